"""Read the Python files of a project, within bounds. Nothing of it is imported or run."""

import ast
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from svc_pg.scaffold.applications import PACKAGES

MAX_FILES: Final = 2000
MAX_BYTES: Final = 32 * 1024 * 1024
MAX_FILE_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 12
_SKIPPED: Final = frozenset(
    (
        "venv",
        "env",
        "node_modules",
        "site-packages",
        "__pycache__",
        "build",
        "dist",
        "test",
        "tests",
        "docs",
        "examples",
    )
)

_WORDS: Final = (*PACKAGES, "svc_pg", "DJANGO_SETTINGS_MODULE", "INSTALLED_APPS", "MIDDLEWARE", "SVC_CONFIG")
"""A file without any of these can tell nothing, so it is not parsed: that takes most of the time."""


@dataclass(slots=True)
class SourceFiles:
    """The files below a folder that were read; ``is_cut`` if there were more than the bounds allow.

    Hidden folders, virtual environments, node_modules, tests, documentation and examples are left out, and links are
    not followed.
    """

    folder: Path
    is_cut: bool = False
    trees: dict[Path, ast.Module] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "SourceFiles":
        """Read the files and parse those that can tell something: the tree of another is empty.

        Of those that can, the ones that are not Python are passed over.
        """
        found = cls(folder)
        size = 0
        for path in _files(folder):
            if len(found.trees) >= MAX_FILES or size >= MAX_BYTES:
                found.is_cut = True
                break
            text = read_text(path)
            if text is None:
                continue
            size += len(text)
            tree = parsed(text) if any(word in text for word in _WORDS) else ast.Module([], [])
            if tree is not None:
                found.trees[path.relative_to(folder)] = tree
        return found


def read_text(path: Path) -> str | None:
    """The text of a file; None if it is too large, no text, or cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            return None
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def parsed(text: str) -> ast.Module | None:
    """The syntax tree; None if it is no Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the project's escapes, for example
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        here = Path(root)
        is_deep = len(here.relative_to(folder).parts) >= MAX_DEPTH
        folders[:] = [] if is_deep else sorted(name for name in folders if not _is_skipped(here / name))
        for name in sorted(names):
            if name.endswith(".py") and not name.startswith(("test_", ".")) and not name.endswith("_test.py"):
                yield here / name


def _is_skipped(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in _SKIPPED or name.endswith(".egg-info") or (folder / "pyvenv.cfg").exists()
