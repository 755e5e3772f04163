"""The rights in a database are those that the headers of the files in sql/ give."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import get_args

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from svc_pg import schema
from svc_pg.config import OnChange
from svc_pg.database import sql_access
from svc_pg.database.sql_access import Header, Kind, Privilege
from tests.support.hooks import hooks_config
from tests.support.roles import new_role

HOLDERS = {party: f"svc_{party}" for party in ("writer", "sender", "reader", "admin")}
CLASSES: dict[Kind, SQL] = {"function": SQL("function"), "view": SQL("table")}
OBJECTS = """
    select 'function', p.proname, p.oid::regprocedure::text, pg_get_userbyid(p.proowner)
      from pg_proc p where p.pronamespace = 'svc'::regnamespace
    union all
    select 'view', c.relname, c.oid::regclass::text, pg_get_userbyid(c.relowner)
      from pg_class c where c.relnamespace = 'svc'::regnamespace and c.relkind = 'v'
"""


@pytest.fixture
def roles(postgres: str) -> Iterator[dict[str, str]]:
    """The owner of a table, the owner of one whose capture hashes, and a role without rights."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(new_role(postgres)) for name in ("plain", "hashed", "nobody")}


@pytest.fixture
def db(roles: dict[str, str], database: str) -> str:
    """A database of the test's own, that is dropped before the roles."""
    config = hooks_config("t.changed")
    config.audit.table("plain", redact={"a": "last4"})
    config.audit.table("hashed", redact={"a": "hash"})
    config.webhooks.change_events = [
        OnChange.model_validate({"table": name, "operation": "INSERT", "event": "t.changed"})
        for name in ("plain", "hashed")
    ]
    with psycopg.connect(database) as conn:
        for name in ("plain", "hashed"):
            conn.execute(SQL("create table {} (id int primary key, a text)").format(Identifier(name)))
            conn.execute(SQL("alter table {} owner to {}").format(Identifier(name), Identifier(roles[name])))
        conn.commit()
        schema.install(conn, config)
    return database


def given(header: Header, name: str, privilege: Privilege) -> set[str]:
    """Those who may use an object of this name."""
    parties: set[str] = {party for right, party in header.rights if right == privilege and party != "trigger"}
    if "owner" in parties:
        parts = {"plain": "_public_plain", "hashed": "_public_hashed", "writer": "_svc_"}  # it captures our own tables
        parties |= {owner for owner, part in parts.items() if not header.is_family or part in name}
    if "hashing owner" in parties:
        parties |= {"hashed"}
    return {*parties} - {"owner", "hashing owner"}


def test_each_role_may_use_what_the_headers_say_and_nothing_else(db: str, roles: dict[str, str]) -> None:
    rights: dict[Kind, tuple[Privilege, ...]] = {"function": ("EXECUTE",), "view": ("SELECT", "INSERT", "UPDATE")}
    used: set[Header] = set()
    with psycopg.connect(db) as conn:
        for kind, name, identity, owner in conn.execute(OBJECTS).fetchall():
            fitting = [each for each in sql_access.headers() if each.kind == kind and each.fits(name)]
            header = min(fitting, key=lambda each: each.is_family)  # capture_log is none of capture_*
            used.update(each for each in fitting if each.pattern == header.pattern)  # of svc.send there are several
            for privilege in rights[kind]:
                ask = SQL("select has_{}_privilege(%s, %s, %s)").format(CLASSES[kind])
                holders = {
                    holder
                    for holder, role in (HOLDERS | roles).items()
                    if role != owner and conn.execute(ask, (role, identity, privilege)).fetchone() == (True,)
                }
                owned = {holder for holder, role in (HOLDERS | roles).items() if role == owner}
                assert holders == given(header, name, privilege) - owned, (identity, privilege)
    assert used == {*sql_access.headers()}, "each file has made something"
    assert {privilege for header in used for privilege, _ in header.rights} == {*get_args(Privilege)}
