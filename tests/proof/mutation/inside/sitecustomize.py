"""Import svc_pg from a copy of the project, in each Python that has this folder on its path, whatever is installed."""

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec

_COPY = os.environ["MUTATION_COPY"]
_FOLDERS = {"svc_pg": "svc_pg", "svc_pg.cli": "cli", "svc_pg.sql": "sql"}


class _Finder:
    """Finds the packages that an installation joins from several folders."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG004 - so called
        if name not in _FOLDERS:
            return None
        folder = f"{_COPY}/{_FOLDERS[name]}"
        return importlib.util.spec_from_file_location(
            name,
            f"{folder}/__init__.py",
            submodule_search_locations=[folder],
        )


sys.meta_path.insert(0, _Finder)
