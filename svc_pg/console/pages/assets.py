"""The static files of the pages: a style sheet, a script, icons and a logo, each served under its version."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from svc_pg.console.http.requests import Problem
from svc_pg.console.transport.compression import gzip_member

_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOLDER: Final = files("svc_pg.console.pages") / "static"
_NAMES: Final = frozenset(each.name for each in _FOLDER.iterdir() if each.name.rpartition(".")[2] in _MEDIA_TYPES)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is served. ``version`` changes with its bytes."""

    content: bytes
    gzip: bytes
    media_type: str
    version: str


def version(name: str) -> str:
    """The version of a file, for its address."""
    return _read(name).version


def find(name: str) -> StaticFile:
    """The file with this name. Raises Problem 404."""
    if name not in _NAMES:
        raise Problem(404, "not_found", "There is no such file.")
    return _read(name)


@cache
def _read(name: str) -> StaticFile:
    content = (_FOLDER / name).read_bytes()
    return StaticFile(
        content, gzip_member(content, level=9), _MEDIA_TYPES[name.rpartition(".")[2]], sha256(content).hexdigest()[:12]
    )
