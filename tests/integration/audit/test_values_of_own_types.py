"""Images of values whose type is not PostgreSQL's own: as its output function prints them, at every level and time."""

from typing import Any, LiteralString

import psycopg
import pytest

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from tests.support.tables import log

# Every cast to json or text is a trap
TYPES: LiteralString = """
create type mood as enum ('low', 'high');
create type pair as (mood mood, "a b" text);
create type span as range (subtype = integer);
create domain temper as mood not null check (value::text <> 'none');
create domain email as varchar(80) check (value ~ '@');
create type sizes as (n integer[]);
create function trap(mood) returns json language plpgsql as $$ begin raise 'a cast was called'; end $$;
create function trap(span) returns json language plpgsql as $$ begin raise 'a cast was called'; end $$;
create function trap(pair) returns text language plpgsql as $$ begin raise 'a cast was called'; end $$;
create cast (mood as json) with function trap(mood);
create cast (span as json) with function trap(span);
create cast (pair as text) with function trap(pair) as implicit;
"""
COLUMNS: LiteralString = """(
    m mood, list mood[], p pair, pairs pair[], s span, z sizes, mail email, mails email[], n numeric(6, 2), j json,
    d jsonb, at timestamptz, "odd ""name" mood, bits bit(3), kind "char", {temper} primary key (m)
)"""
ROW: LiteralString = """
    'low', '{low,NULL,high}', ('high', 'x, "y\\z"'), array[('low', null)::pair], '[1,3)', row('{1,2}'),
    'a@b', '{a@b}', 1.50, '{"k": [1]}', '{"k": null}', '2026-01-02 03:04:05+00', 'high', '101', 'k'
"""
IMAGE = {
    "m": "low", "list": ["low", None, "high"], "p": '(high,"x, ""y\\\\z""")', "pairs": ["(low,)"], "s": "[1,3)",
    "z": '("{1,2}")', "mail": "a@b", "mails": ["a@b"], "n": 1.5, "j": {"k": [1]}, "d": {"k": None},
    "at": "2026-01-02T03:04:05+00:00", 'odd "name': "high", "bits": "101", "kind": "k",
}  # fmt: skip


def own_types(level: Any, **options: Any) -> Config:
    return Config(audit=AuditConfig(tables=[AuditedTable(name="t", level=level, **options)]))


@pytest.mark.parametrize("temper", ["", "t temper default 'low',"])
@pytest.mark.parametrize("level", ["row", "statement"])
def test_triggers_and_backfill_record_the_same_values_and_key_and_call_no_cast(
    database: str, level: Any, temper: str
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(TYPES)
        conn.execute(b"create table t " + COLUMNS.replace("{temper}", temper).encode())
        conn.commit()
        schema.install(conn, own_types(level))
        conn.execute(b"insert into t values (" + ROW.encode() + b")")
        conn.execute("update t set n = 2, list = null")
        conn.execute("insert into t (m) values ('high')")
        conn.execute("delete from t where m = 'high'")
        inserted, updated, empty, _ = log(conn)
        expected = IMAGE | ({"t": "low"} if temper else {})
        assert inserted["after_data"] == updated["before_data"] == expected
        assert updated["changed_fields"] == ["list", "n"]
        assert {value for name, value in empty["after_data"].items() if name not in ("m", "t")} == {None}
        assert empty["after_data"].keys() == expected.keys()
        conn.commit()
        conn.execute(b"create table copy (like t including defaults); insert into copy values (" + ROW.encode() + b")")
        conn.execute("alter table copy add primary key (m)")
        conn.commit()
        config = own_types(level)
        config.audit.tables.append(AuditedTable(name="copy", level=level))
        schema.install(conn, config)
        assert schema.backfill(conn, config) == {"public.t": 0, "public.copy": 1}  # the key of t is known
        snapshot = log(conn)[-1]
        assert (snapshot["after_data"], snapshot["record_id"]) == (expected, inserted["record_id"])


@pytest.mark.parametrize("level", ["row", "statement"])
def test_columns_of_such_types_may_come_and_go_between_installs(database: str, level: Any) -> None:
    with psycopg.connect(database) as conn:
        conn.execute("create type mood as enum ('low', 'high')")
        conn.execute("create table t (id int primary key, a mood, b mood)")
        conn.commit()
        schema.install(conn, own_types(level, redact=["b"]))
        conn.execute("insert into t values (1, 'low', 'low')")
        conn.execute("alter table t rename a to c")
        conn.execute("update t set c = 'high'")
        assert log(conn)[-1]["after_data"] == {"id": 1, "c": "[masked]"}
        conn.execute("alter table t drop c, add e mood")
        conn.execute("update t set e = 'low'")
        assert log(conn)[-1]["after_data"] == {"id": 1, "e": "[masked]"}
        conn.execute("alter table t rename b to secret")
        conn.execute("update t set secret = 'high'")
        assert log(conn)[-1]["after_data"] == {"id": "[masked]", "e": "[masked]", "secret": "[masked]"}


@pytest.mark.parametrize("value", ["1e1000000", '["\\ud800"]'])
@pytest.mark.parametrize("level", ["row", "statement"])
def test_they_are_recorded_beside_json_that_jsonb_cannot_hold(database: str, level: Any, value: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(TYPES)
        conn.execute("create table t (id int primary key, m mood, p pair, mail email, s text, j json)")
        conn.commit()
        schema.install(conn, own_types(level))
        conn.execute("insert into t values (1, 'low', ('low', 'x'), 'a@b', %s, %s)", ("a,\"b\" \\ (c)\n''", value))
        [entry] = log(conn)
        image = entry["after_data"]
        assert image.pop("j")["text"] == value
        assert image == {"id": 1, "m": "low", "p": "(low,x)", "mail": "a@b", "s": "a,\"b\" \\ (c)\n''"}
        assert entry["record_id"] == "1"


def test_they_can_be_read_back_into_their_types(database: str) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(TYPES)
        conn.execute("create table t (id int primary key, list mood[], p pair, pairs pair[], s span)")
        conn.commit()
        schema.install(conn, own_types("row"))
        conn.execute("insert into t values (1, '{low,NULL}', ('low', 'a, b'), array[('high', 'c')::pair], '[1,3)')")
        conn.commit()
        for source in ("svc.history_public_t", "svc.as_of_public_t(now())"):
            query = """select row(h.list::mood[], h.p::pair, h.pairs::pair[], h.s::span)::record
                              operator(pg_catalog.*=) row(t.list, t.p, t.pairs, t.s)::record
                         from t join {} h using (id)"""
            assert scalar(conn, query.format(source))


def test_an_hstore_can_be_read_back(database: str) -> None:
    with psycopg.connect(database) as conn:
        if not scalar(conn, "select exists (select from pg_available_extensions where name = 'hstore')"):
            pytest.skip("the server has no hstore")
        conn.execute("create extension hstore; create table t (id int primary key, tags hstore)")
        conn.commit()
        schema.install(conn, own_types("row"))
        conn.execute("""insert into t values (1, 'a=>1, "b c"=>NULL')""")
        conn.commit()
        assert log(conn)[0]["after_data"]["tags"] == '"a"=>"1", "b c"=>NULL'
        assert scalar(conn, "select h.tags::hstore = t.tags from svc.as_of_public_t(now()) h join t using (id)")
