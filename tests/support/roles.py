"""Roles for tests. They belong to the whole server, so each has a name of its own and is dropped again."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo


@contextmanager
def new_role(maintenance: str, attributes: LiteralString = "login") -> Iterator[str]:
    """Enter to get the name of a new role. Drop its databases, its objects and its grants before the end."""
    name = f"svc_test_{secrets.token_hex(6)}"
    with psycopg.connect(maintenance, autocommit=True) as conn:
        conn.execute(sql.SQL("create role {} {}").format(sql.Identifier(name), sql.SQL(attributes)))
    try:
        yield name
    finally:
        with psycopg.connect(maintenance, autocommit=True) as conn:
            conn.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def as_role(conninfo: str, role: str) -> psycopg.Connection[Any]:
    """A connection of that role."""
    return psycopg.connect(make_conninfo(conninfo, user=role))


@contextmanager
def owning(conninfo: str, role: str) -> Iterator[tuple[psycopg.Connection[Any], list[str]]]:
    """Enter to get a connection of that role in autocommit, and the notices that it gets."""
    with as_role(conninfo, role) as conn:
        conn.autocommit = True
        yield conn, noticed(conn)


def noticed(conn: psycopg.Connection[Any]) -> list[str]:
    """The messages of the notices that the connection gets from now on."""
    notices: list[str] = []
    conn.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    return notices


def execute(conninfo: str, statement: LiteralString, *names: str) -> None:
    """Run one statement as the conninfo's own user, with names in place of its braces."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
