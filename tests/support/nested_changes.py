"""Changes of one table inside changes of it, to any depth, as triggers and foreign keys make them."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, LiteralString

import psycopg
from hypothesis import strategies as st

from svc_pg import Config
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

Connection = psycopg.Connection[Any]
Level = Any

# Each change of a row executes the next statement of the plan, and so on: any nesting can be drawn. Versions make every
# image unique, so that there is one order only from an INSERT to a DELETE.
NESTED: LiteralString = """
create sequence version;
create table plan (n serial primary key, statement text not null);
create function next_of_plan() returns trigger language plpgsql as $$
declare
    v_statement text;
begin
    delete from plan where n = (select min(n) from plan) returning statement into v_statement;
    if found then
        execute v_statement;
    end if;
    return null;
end $$;
create function set_version() returns trigger language plpgsql as $$
begin
    new.v := nextval('version');
    return new;
end $$;
"""
TABLE: LiteralString = """
create table t (id int primary key, up int references t on delete set null, a int, v bigint);
create trigger zz_nested after insert or update or delete on t for each row execute function next_of_plan();
"""
VERSIONS: LiteralString = (
    "create trigger set_version before insert or update on t for each row execute function set_version()"
)
# by statement it would be refused
CASCADES: LiteralString = (
    "alter table t drop constraint t_up_fkey, add foreign key (up) references t on update cascade on delete cascade"
)
KEYS = range(4)
REFUSED = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.ForeignKeyViolation,
    psycopg.errors.TriggeredDataChangeViolation,
)

keys = st.integers(0, len(KEYS) - 1)
values = st.integers(0, 2)
changes = st.one_of(
    st.builds("insert into t values ({}, null, {})".format, keys, values),
    st.builds("insert into t select n, null, {1} from generate_series({0}, 3) n".format, keys, values),
    st.builds("insert into t values ({0}, null, {1}) on conflict (id) do update set a = {1}".format, keys, values),
    st.builds("update t set a = {1} where id >= {0}".format, keys, values),
    st.builds("update t set a = a + 1 where id <> {}".format, keys),
    st.builds("update t set up = {1} where id = {0}".format, keys, keys),
    st.builds("delete from t where id = {}".format, keys),
    st.builds("delete from t where id >= {}".format, keys),
)
moves = st.builds("update t set id = {1} where id = {0}".format, keys, keys)


touches = st.builds("update t set a = a where id >= {}".format, keys)
"""Changes of nothing but versions."""


def audited(
    template: str, postgres: str, level: Level, *, has_versions: bool, ignore: Sequence[str] = ()
) -> AbstractContextManager[Connection]:
    """A connection to a database in which the table is audited at a level."""

    @contextmanager
    def connected() -> Iterator[Connection]:
        with new_database(postgres, template=template) as conninfo:
            ddl = NESTED + TABLE + (VERSIONS if has_versions else "") + ";" + (CASCADES if level == "row" else "")
            config = Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level, ignore=list(ignore))]))
            create_and_audit(conninfo, ddl, config)
            with psycopg.connect(conninfo) as conn:
                yield conn

    return connected()


def begin(conn: Connection) -> int:
    """Delete each record, so that its history begins with a known absence; return the last id of the log."""
    conn.rollback()
    for statement in ("delete from t", "insert into t (id) select generate_series(0, 3)", "delete from t"):
        conn.execute(statement)
        conn.commit()
    last: int = scalar(conn, "select max(id) from svc.audit_logs")
    return last


def take(conn: Connection, statement: str, plan: list[str]) -> None:
    """Run a statement, in which triggers execute the plan; if a constraint refuses any part, all of it is undone."""
    try:
        with conn.transaction():
            conn.cursor().executemany("insert into plan (statement) values (%s)", [(each,) for each in plan])
            conn.execute(statement.encode())
    except REFUSED:
        pass
    conn.execute("delete from plan")
