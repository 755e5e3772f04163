"""The lines of svc-pg that a project has already, in its imports and in the settings of Django."""

import ast
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from svc_pg.scaffold.applications import imported

DjangoSetting = Literal["INSTALLED_APPS", "MIDDLEWARE", "SVC_CONFIG"]

_INTEGRATIONS: Final = "svc_pg.integrations."
_ENGINES: Final = frozenset(("sqlalchemy", "psycopg", "mysql", "sqlite"))
_DJANGO: Final = f"{_INTEGRATIONS}django"
_APPLICATION: Final = frozenset((_DJANGO, f"{_DJANGO}.apps.SvcPgConfig"))
_ACTORS: Final = ("actor_middleware", "acting_as", "audit_connections")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The files that name actors of requests, those that wrap engines and pools, and the settings of Django."""

    actors: Set[Path]
    engines: Set[Path]
    django: Set[DjangoSetting]

    @classmethod
    def read(cls, trees: Mapping[Path, ast.Module]) -> "Prepared":
        """Look for svc-pg in the syntax trees of a project."""
        used = {file: frozenset(_integrations(tree)) for file, tree in trees.items()}
        return cls(
            {file for file, names in used.items() if names - _ENGINES - {"django"}},
            {file for file, names in used.items() if names & _ENGINES},
            {setting for tree in trees.values() for setting in _of_django(tree)},
        )


def is_among(file: Path, prepared: Set[Path], others: Collection[Path]) -> bool:
    """True if the file has the lines, or a file has them that makes none of the ``others``: it prepares them all."""
    return file in prepared or bool(prepared - set(others))


def _integrations(tree: ast.Module) -> Iterator[str]:
    """The integrations that a file imports, by the names of their modules."""
    for name in imported(tree).values():
        if name.startswith(_INTEGRATIONS):
            yield name.removeprefix(_INTEGRATIONS).partition(".")[0]


def _of_django(tree: ast.Module) -> Iterator[DjangoSetting]:
    """The settings that a file has, wherever it assigns or extends them."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if text in _APPLICATION:
                yield "INSTALLED_APPS"
            case ast.Constant(value=str(text)) if text.startswith(_DJANGO) and text.endswith(_ACTORS):
                yield "MIDDLEWARE"
            case ast.Name(id="SVC_CONFIG", ctx=ast.Store()):
                yield "SVC_CONFIG"
            case _:
                pass
    for name in imported(tree).values():
        if name.startswith(_DJANGO) and name.endswith(_ACTORS):
            yield "MIDDLEWARE"
        elif name.startswith(f"{_DJANGO}.operations"):  # its migrations install
            yield "SVC_CONFIG"
