"""Read the Python files of a project, within bounds. Nothing of it is imported or run."""

import ast
import os
import sys
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
MAX_FOLDERS: Final = 20_000
_TOLD: Final = 3
_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
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

_OWN_WORDS: Final = ("svc_pg", "SVC_CONFIG")
_WORDS: Final = (*PACKAGES, *_OWN_WORDS, "DJANGO_SETTINGS_MODULE", "INSTALLED_APPS", "MIDDLEWARE")
"""A file without any of these can tell nothing, so it is not parsed: that takes most of the time."""


@dataclass(slots=True)
class SourceFiles:
    """The files below a folder that were read; ``is_cut`` if there were more than the bounds allow.

    Hidden folders, virtual environments, node_modules, tests, documentation and examples are left out, and links are
    not followed. ``own`` are those trees whose files mention svc-pg. ``broken`` are the files that may tell something
    and are no Python of this version, or too large to be read, each with the reason.
    """

    is_cut: bool = False
    trees: dict[Path, ast.Module] = field(default_factory=dict)
    own: dict[Path, ast.Module] = field(default_factory=dict)
    broken: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "SourceFiles":
        """Read the files and parse those that can tell something: the tree of another is empty."""
        found = cls()
        size = 0
        for path in found._paths(folder):
            if len(found.trees) >= MAX_FILES or size >= MAX_BYTES:
                found.is_cut = True
                break
            text = found._text(path, path.relative_to(folder))
            if text is not None:
                size += len(text)
                found._add(path.relative_to(folder), text)
        return found

    @property
    def problems(self) -> Iterator[str]:
        """Sentences for people about the files that were not read."""
        for file, reason in list(self.broken.items())[:_TOLD]:
            yield f"{file} was passed over: {reason}"
        if len(self.broken) > _TOLD:
            yield f"{len(self.broken) - _TOLD:,} more such files were passed over"
        if self.is_cut:
            yield (
                f"the folder has more than {MAX_FILES:,} files of Python or {MAX_FOLDERS:,} folders, and only the first"
                " were looked at: run it in the folder of the application"
            )

    def _text(self, path: Path, name: Path) -> str | None:
        text = read_text(path)
        if text is None and _is_large(path):
            self.broken[name] = f"it has more than {MAX_FILE_BYTES // 1024:,} KiB"
        return text

    def _add(self, name: Path, text: str) -> None:
        if not any(word in text for word in _WORDS):
            self.trees[name] = ast.Module([], [])
            return
        try:
            self.trees[name] = parsed(text)
            if any(word in text for word in _OWN_WORDS):
                self.own[name] = self.trees[name]
        except ValueError as error:
            self.broken[name] = str(error)

    def _paths(self, folder: Path) -> Iterator[Path]:
        """The files of Python, in order; no more folders than the bound allows are looked into."""
        for number, (root, folders, names) in enumerate(os.walk(folder)):
            if number >= MAX_FOLDERS:
                self.is_cut = True
                return
            here = Path(root)
            is_deep = len(here.relative_to(folder).parts) >= MAX_DEPTH
            folders[:] = [] if is_deep else sorted(name for name in folders if not _is_skipped(here / name))
            for name in sorted(names):
                if name.endswith(".py") and not name.startswith(("test_", ".")) and not name.endswith("_test.py"):
                    yield here / name


def read_text(path: Path) -> str | None:
    """The text of a file; None if it is too large, no text, or cannot be read."""
    try:
        if not is_file(path) or path.stat().st_size > MAX_FILE_BYTES:
            return None
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def parsed(text: str) -> ast.Module:
    """The syntax tree. Raises ValueError, with a reason for people, if it is no Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the project's escapes, for example
            return ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"line {error.lineno or 1} is no Python {_VERSION}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"it is no Python {_VERSION}") from error


def is_file(path: Path) -> bool:
    """True of a file that this user can see."""
    try:
        return path.is_file()
    except OSError:  # a folder on the way to it may not be looked into
        return False


def is_folder(path: Path) -> bool:
    """True of a folder that this user can see."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_large(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > MAX_FILE_BYTES
    except OSError:
        return False


def _is_skipped(folder: Path) -> bool:
    name = folder.name
    return name.startswith(".") or name in _SKIPPED or name.endswith(".egg-info") or is_file(folder / "pyvenv.cfg")
