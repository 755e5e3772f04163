"""The binary log of MySQL and MariaDB, printed by their own programs, and a replay of it."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pymysql
import pytest

from svc_pg.database.dbapi import rows
from tests import mysql_programs
from tests.support.mysql import MySqlServer
from tests.support.mysql_tables import Connection, run

_COMMENT: Final = re.compile(r"^\s*-- .*$", re.MULTILINE)
_OF_THE_CLIENT: Final = re.compile(r"/\*!\\C \w+ \*/")


def begin(conn: Connection) -> None:
    """Begin a new file."""
    run(conn, "flush binary logs")


def printed(conn: Connection, server: MySqlServer, *options: str) -> str:
    """End the file that ``begin`` began, and print it as ``mysqlbinlog`` does."""
    name = rows(conn, "show binary logs")[-1][0]
    begin(conn)
    [(folder,)] = rows(conn, "select @@datadir")
    command = [*_program(server), *options, str(Path(folder, name))]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def replay(conn: Connection, text: str, *, keeps_comments: bool = True) -> None:
    """Run the printed statements by ``mysql``, with ``--comments`` or without."""
    for statement in _statements(text):
        sent = statement if keeps_comments else _COMMENT.sub("", statement)
        try:
            conn.query(sent)
        except pymysql.Error as error:
            error.add_note(sent)
            raise


def _program(server: MySqlServer) -> Sequence[str]:
    if server.kind == "mysql":
        return [
            *mysql_programs.command("bin/mysqlbinlog"),
            "--no-defaults",
            "--skip-gtids",
        ]  # the same server has run them
    if program := shutil.which("mariadb-binlog"):
        return [program, "--no-defaults"]
    pytest.skip("mariadb-binlog is missing; install the package mariadb-client")


def _statements(text: str) -> Iterator[str]:
    delimiter, lines = ";", list[str]()
    for line in text.splitlines():
        if line.startswith("DELIMITER "):
            delimiter = line.split()[1]
        elif lines or not line.startswith("#"):
            lines.append(line)
            if line.endswith(delimiter):
                statement = "\n".join(lines).removesuffix(delimiter).strip()
                lines.clear()
                if statement and not _OF_THE_CLIENT.fullmatch(statement):
                    yield statement
