"""A folder that has all of its files, or is not there."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from svc_pg.errors import SvcError

from ...files.output_file import explained


@contextmanager
def new_folder(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Enter to make a folder beside it, which takes its place at the end, and is removed if that is not reached.

    Gives the full path of both. Raises SvcError: if it is there and not empty, at the beginning or at the end, or if
    it cannot be written.
    """
    place = folder.resolve()
    with explained(folder):
        _refuse_used(place, folder)
    if place == Path.cwd():
        raise SvcError("the folder is the one that you are in", hint="Name a new one in it.")
    part = place.with_name(f".{place.name[:200]}.{secrets.token_hex(4)}.part")
    with explained(folder):
        part.mkdir()
    try:
        with explained(folder):
            yield place, part
        with explained(folder):
            _take_its_place(part, place, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _refuse_used(place: Path, folder: Path) -> None:
    if place.exists() and not place.is_dir():
        raise SvcError(f"{folder} is not a folder", hint="Name a new one.")
    if place.exists() and any(place.iterdir()):
        raise SvcError(f"the folder {folder} is not empty", hint="Name a new one, or remove what is in it.")


def _take_its_place(part: Path, place: Path, folder: Path) -> None:
    if place.exists():
        shutil.copymode(place, part)
    try:
        part.replace(place)  # which succeeds if there is none, or an empty one
    except OSError:
        _refuse_used(place, folder)  # another export was faster
        raise
