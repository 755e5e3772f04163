"""Run the programs of a server for tests, in an account that they accept, with data in memory if it fits."""

import os
import pwd
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final, TypedDict

OUTPUT: Final = "output"
MEMORY: Final = Path("/dev/shm")
MEMORY_NEEDED: Final = 512 << 20
"""The maximum size of one server's data in memory, with a margin."""


class Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


def server_account() -> Account:
    """The user that runs the server: the present one, or ``nobody`` instead of root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def reachable(bin_folder: Path, folder: Path, account: Account) -> Path:
    """The programs, or if the account may not run them, a copy in the folder, with lib and share beside it."""
    try:
        subprocess.run([bin_folder / "postgres", "--version"], **account, check=True, stdout=subprocess.DEVNULL)
    except PermissionError:
        package = bin_folder.parent.parent
        libraries = package.with_name(f"{package.name}.libs")  # where a wheel keeps the libraries of its programs
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name)
        copy = folder / package.name / bin_folder.parent.name
        shutil.copytree(bin_folder.parent, copy, symlinks=True)
        return copy / bin_folder.name
    return bin_folder


@cache
def major(programs: Path) -> int:
    """The version of PostgreSQL's programs in a folder."""
    words = subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, text=True).stdout
    return int(re.findall(r"\d+", words)[0])


def memory() -> Path | None:
    """The folder with files in memory, if it has room for a server of each process of this run."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if not os.access(MEMORY, os.W_OK | os.X_OK) or shutil.disk_usage(MEMORY).free < processes * MEMORY_NEEDED:
        return None
    return MEMORY


def run(program: Path, *arguments: str, folder: Path, account: Account) -> "subprocess.Popen[bytes]":
    """Start a program in the folder, which keeps its output."""
    with (folder / OUTPUT).open("wb") as file:
        return subprocess.Popen(
            [program, *arguments],
            **account,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            process_group=0,  # Ctrl-C is for the tests, which stop the server when they have finished
        )


def wait(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Wait for its successful end."""
    try:
        if process.wait() != 0:
            raise RuntimeError(f"{process.args!r} failed:\n{output(folder)}")
    finally:
        process.wait()  # after Ctrl-C too, or it would write to the folder that is being removed


def output(folder: Path) -> str:
    return (folder / OUTPUT).read_text(errors="replace")
