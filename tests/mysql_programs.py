"""MySQL to test on: ``python -m tests.mysql_programs fetch`` unpacks it into the cache folder; MariaDB is Debian's own.

Debian has MySQL in unstable only, so its packages are unpacked beside the system, with their loader and all libraries,
and nothing is installed.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.matrix import MatrixError, cache_folder

PACKAGE: Final = "mysql-server-core"
KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARCHIVE: Final = re.compile(r"[\w+-]+:\S+/debian/?(?=\s|$)")
NEEDLESS: Final = ("perl", "libperl", "libc-gconv-modules", "gcc-", "libicu-doc")
"""The name prefixes of dependencies of the server that its programs do not load."""


def fetch() -> Path:
    """The folder of the unpacked packages, fetched unless it is there."""
    folder = _folder()
    if not folder.is_dir():
        cache_folder().mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetching-", dir=cache_folder()) as fetched:
            unpacked = Path(fetched, "unpacked")
            for package in _download(Path(fetched)):
                _run("dpkg-deb", "-x", str(package), str(unpacked))
            unpacked.chmod(0o755)
            try:
                unpacked.rename(folder)
            except OSError:
                if not folder.is_dir():  # or else another process was faster
                    raise
    return path()


def path() -> Path:
    """The folder of the unpacked packages. Raises MatrixError if it is missing."""
    if not (_folder() / "usr" / "sbin" / "mysqld").is_file():
        raise MatrixError(f"{_folder()} has no mysqld; run: python -m tests.mysql_programs fetch")
    return _folder()


def command(program: str) -> list[str]:
    """An unpacked program, for example ``sbin/mysqld``, run by the loader and with the libraries unpacked with it.

    Raises MatrixError as ``path``.
    """
    unpacked = path() / "usr"
    [libraries] = (unpacked / "lib").glob("*-linux-gnu")
    [loader] = (unpacked / "lib64").glob("ld-linux-*")
    return [str(loader), "--library-path", str(libraries), str(unpacked / program)]


def _folder() -> Path:
    return cache_folder() / "mysql-of-debian-unstable"


def _download(folder: Path) -> list[Path]:
    """Download the packages, by an apt with a folder of its own, which ignores the system's packages."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {_archive()} unstable main\n")
    (folder / "status").touch()
    options = {
        "Dir::State": folder,
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "APT::Install-Recommends": "false",
    }
    if os.geteuid() == 0:
        options["APT::Sandbox::User"] = "root"  # who may write to the folder
    told = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", "-qq", *told, "update")
    _run("apt-get", "-qq", *told, "--download-only", "--assume-yes", "install", PACKAGE)
    packages = sorted((folder / "cache" / "archives").glob("*.deb"))
    return [package for package in packages if not package.name.startswith(NEEDLESS)]


def _archive() -> str:
    """The Debian archive or mirror of this machine's own packages."""
    sources = Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))
    lines = [line for file in sources if file.is_file() for line in file.read_text().splitlines()]
    for line in lines:
        if not line.lstrip().startswith("#") and (archive := ARCHIVE.search(line)):
            return archive[0]
    raise MatrixError("apt of this machine knows no archive of Debian, from which MySQL would come")


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise MatrixError(f"{command[0]} is missing: MySQL is fetched on Debian and its like only") from error
    except subprocess.CalledProcessError as error:
        raise MatrixError(f"{' '.join(command)} failed:\n{error.stderr.strip()}") from error


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mysql_programs", description="MySQL to test on.")
    parser.add_argument("command", choices=("fetch", "path"), help="unpack it into the cache folder, or print where")
    find = {"fetch": fetch, "path": path}[parser.parse_args().command]
    try:
        print(find())  # noqa: T201 - what the program is for
    except MatrixError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
