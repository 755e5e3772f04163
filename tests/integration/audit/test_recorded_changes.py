"""The changes that a table's rules leave out of the log, at both levels of capture, and those that they must not."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg import sql

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError
from svc_pg.schema.postgres.sql_script import script
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit, log

Connect = Callable[..., psycopg.Connection[Any]]

DDL = "create table t (id int primary key, status text, total numeric, secret text, updated_at timestamptz)"


@pytest.fixture(params=["row", "statement"])
def connect(request: pytest.FixtureRequest, database: str) -> Any:
    """Create and audit a table, at each level in turn, and connect."""
    opened = []

    def connected(ddl: LiteralString = DDL, **options: Any) -> psycopg.Connection[Any]:
        create_and_audit(database, ddl, of_table(level=request.param, **options))
        opened.append(psycopg.connect(database))
        return opened[-1]

    yield connected
    for conn in opened:
        conn.close()


def of_table(**options: Any) -> Config:
    return Config(audit=AuditConfig(tables=[AuditedTable.model_validate({"name": "t"} | options)]))


def brief(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return [(e["operation"], e["record_id"], e["changed_fields"]) for e in log(conn)]


def test_an_update_of_ignored_columns_alone_leaves_no_entry_and_others_tell_the_truth(connect: Connect) -> None:
    conn = connect(ignore=["updated_at", "secret"], redact=["secret"])
    conn.execute("insert into t values (1, 'new', 1, 'a', '2026-01-01Z'), (2, 'new', 1, 'b', '2026-01-01Z')")
    conn.execute("update t set updated_at = '2026-01-02Z'")
    conn.execute("update t set secret = 'c', updated_at = null")
    conn.execute("update t set updated_at = '2026-01-03Z', status = case id when 1 then 'paid' else status end")
    conn.execute("delete from t where id = 2")
    assert brief(conn)[2:] == [("UPDATE", "1", ["status", "updated_at"]), ("DELETE", "2", None)]
    entries = log(conn)
    assert (entries[2]["before_data"], entries[2]["after_data"]["updated_at"]) == (
        {"id": 1, "status": "new", "total": 1, "updated_at": None},
        "2026-01-03T00:00:00+00:00",
    )


def test_ignored_columns_may_be_unrecorded_json_or_of_a_domain(connect: Connect) -> None:
    conn = connect(
        "create domain touched as timestamptz not null default now(); create domain document as json;"
        "create table t (id int primary key, a numeric, seen json, at touched, note document, n int)",
        columns=["a"],
        ignore=["seen", "at", "note", "n"],
    )
    conn.execute("insert into t (id, a, seen) values (1, 1, '{}')")
    conn.execute("""update t set seen = '{"by": "bob"}', note = '{"by": "bob"}'""")
    conn.execute("""update t set seen = '{"by":   "bob"}'""")
    conn.execute("""update t set note = '{"by":   "bob"}'""")
    conn.execute("update t set at = '2026-01-01Z', n = 2")
    conn.execute("update t set a = 2, n = 3")
    conn.execute("""update t set a = 2.0, note = '{"by":"bob"}'""")
    assert brief(conn)[1:] == [("UPDATE", "1", ["a", "n"]), ("UPDATE", "1", ["a"])]
    assert log(conn)[1]["after_data"] == {"id": 1, "a": 2}


def test_a_change_that_no_image_shows_is_recorded_beside_an_ignored_column_of_a_domain_too(connect: Connect) -> None:
    conn = connect(
        "create domain touched as timestamptz not null default now();"
        "create table t (id int primary key, a jsonb, f float8, at touched)",
        ignore=["at"],
    )
    conn.execute("insert into t values (1, null, 0)")
    conn.execute("update t set a = 'null'")
    conn.execute("update t set f = '-0'")
    conn.execute("update t set at = at + interval '1 day'")
    assert brief(conn)[1:] == [("UPDATE", "1", [])] * 2


def test_an_ignored_change_hides_no_number_that_is_written_another_way(connect: Connect) -> None:
    conn = connect("create table t (id int primary key, j jsonb, seen int)", ignore=["seen"])
    conn.execute("insert into t values (1, '[1.0]', 1); alter table t add newer numeric default 1.0")
    conn.execute("update t set j = '[1.00]', seen = 2")
    conn.execute("update t set newer = 1.00, seen = 3")
    assert brief(conn)[1:] == [("UPDATE", "1", ["seen"]), ("UPDATE", "1", ["seen", "newer"])]


def test_a_column_that_is_generated_from_an_ignored_one_is_a_change_of_its_own(connect: Connect) -> None:
    ddl = "create table t (id int primary key, n int, twice int generated always as (n * 2) stored)"
    conn = connect(ddl, ignore=["n"])
    conn.execute("insert into t values (1, 1)")
    conn.execute("update t set n = 2")
    assert brief(conn)[1:] == [("UPDATE", "1", ["n", "twice"])]


def test_an_ignored_column_that_is_renamed_or_dropped_is_ignored_no_more_and_breaks_no_write(connect: Connect) -> None:
    conn = connect(ignore=["updated_at", "total"])
    conn.execute("insert into t values (1, 'new', 1, 'a', '2026-01-01Z')")
    conn.execute("alter table t rename updated_at to modified_at; alter table t drop total")
    conn.execute("update t set modified_at = '2026-01-02Z'")
    conn.execute("alter table t add total int")
    conn.execute("update t set total = 5")
    changed = [set(fields) for _, _, fields in brief(conn)[1:]]
    assert changed == [{"modified_at"}]


def test_a_change_of_the_key_is_always_on_record(connect: Connect) -> None:
    conn = connect(ignore=["updated_at"])
    conn.execute("insert into t (id) values (1)")
    conn.execute("update t set id = 2, updated_at = now()")
    assert {e["operation"] for e in log(conn)[1:]} in ({"UPDATE"}, {"DELETE", "INSERT"})


def test_a_row_that_moves_to_another_partition_is_on_record_whatever_moved_it(database: str) -> None:
    ddl = """create table t (id int, region text, seen int) partition by list (region);
        create table t_a (seen int, region text, id int);
        alter table t attach partition t_a for values in ('a');
        create table t_b partition of t for values in ('b', 'c')"""
    create_and_audit(database, ddl, of_table(key=["id"], ignore=["region", "seen"]))
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1, 'a', 0), (2, 'b', 0)")
        conn.execute("update t set seen = 1; update t_a set seen = 2; update t set region = 'c' where id = 2")
        conn.execute("update t set region = 'b' where id = 1")
        assert sorted(brief(conn)[2:]) == [("DELETE", "1", None), ("INSERT", "1", None)]


def test_a_condition_decides_what_is_recorded_and_every_truncate_is(connect: Connect) -> None:
    conn = connect(
        record_when={"any": [{"before": {"status": "live"}}, {"after": {"status": "live"}}]},
        redact=["status"],
        enrich=[{"label": "ended", "when": {"not": {"after": {"status": "live"}}}}],
    )
    with audit.actor(conn, "alice"):
        conn.execute("insert into t (id, status) values (1, 'draft'), (2, 'live')")
        conn.execute("update t set total = 1")
        conn.execute("update t set status = 'live' where id = 1")
        conn.execute("update t set status = 'gone' where id = 1")
        conn.execute("update t set status = 'gone' where id = 2")
        conn.execute("update t set total = 2")
        conn.execute("delete from t where id = 1")
        conn.execute("truncate t")
    assert [(e["operation"], e["record_id"], e["label"]) for e in log(conn)] == [
        ("INSERT", "2", None),
        ("UPDATE", "2", None),
        ("UPDATE", "1", None),
        ("UPDATE", "1", "ended"),
        ("UPDATE", "2", "ended"),
        ("TRUNCATE", None, "ended"),
    ]
    assert all("status" not in (e["after_data"] or {}) for e in log(conn))


CONDITIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"changed": "status"}, {"UPDATE"}),
    ({"not": {"changed": "total"}}, {"INSERT", "UPDATE", "DELETE"}),
    ({"before": {"status": {"is_null": True}}}, {"INSERT"}),
    ({"after": {"status": {"is_null": True}}}, {"DELETE"}),
    ({"before": {"status": "new"}}, {"UPDATE"}),
    ({"sql": "before is null or (after ->> 'total')::numeric > 5"}, {"INSERT", "UPDATE"}),
    ({"all": [{"changed": "secret"}]}, set()),
]


@pytest.mark.parametrize("level", ["row", "statement"])
def test_before_is_missing_on_insert_and_after_on_delete(database: str, level: str) -> None:
    names = [f"t{number}" for number in range(len(CONDITIONS))]
    tables = [
        AuditedTable.model_validate({"name": name, "level": level, "record_when": condition})
        for name, (condition, _) in zip(names, CONDITIONS, strict=True)
    ]
    with psycopg.connect(database) as conn:
        conn.execute(DDL)
        for name in names:
            conn.execute(sql.SQL("create table {} (like t including all)").format(sql.Identifier(name)))
        conn.commit()
        schema.install(conn, Config(audit=AuditConfig(tables=tables)))
        for name, (condition, operations) in zip(names, CONDITIONS, strict=True):
            total = ", total = 6" if "sql" in condition else ""
            for statement in (
                "insert into {} values (1, 'new')",
                "update {} set status = 'old'" + total,
                "delete from {}",
            ):
                conn.execute(sql.SQL(statement).format(sql.Identifier(name)))
            recorded = {e["operation"] for e in log(conn) if e["table_name"] == f"public.{name}"}
            assert recorded == operations, condition


def test_both_rules_together_record_what_neither_leaves_out(connect: Connect) -> None:
    conn = connect(ignore=["updated_at"], record_when={"after": {"status": "live"}})
    conn.execute("insert into t (id, status) values (1, 'live'), (2, 'draft')")
    conn.execute("update t set updated_at = now()")
    conn.execute("update t set total = 1, updated_at = null")
    assert brief(conn) == [("INSERT", "1", None), ("UPDATE", "1", ["total", "updated_at"])]


@pytest.mark.parametrize("condition", [{"after": {"status": "live"}}, {"sql": "after ->> 'status' = 'live'"}])
def test_a_column_of_the_condition_that_is_gone_silences_nothing(connect: Connect, condition: dict[str, Any]) -> None:
    conn = connect(record_when=condition)
    conn.execute("alter table t rename status to state")
    conn.execute("insert into t (id, state) values (1, 'draft')")
    conn.execute("delete from t")
    assert [e["operation"] for e in log(conn)] == ["INSERT", "DELETE"]


def test_the_comments_of_a_table_say_what_it_leaves_out_as_long_as_it_does(connect: Connect) -> None:
    conn = connect(ignore=["updated_at"], record_when={"changed": "status"})
    said = 'no entry if only updated_at changed; entries only when {"changed": ["status"]}'
    places = ["svc.record_public_t", "svc.history_public_t"]
    comments = "select obj_description(name::regclass) from unnest(%s::text[]) name"
    as_of = "select obj_description('svc.as_of_public_t'::regproc)"
    assert all(said in comment for (comment,) in conn.execute(comments, [places]))
    assert said in scalar(conn, as_of)
    conn.commit()
    schema.install(conn, of_table())
    assert not any(said in comment for (comment,) in conn.execute(comments, [places]))
    assert said not in scalar(conn, as_of)


STEPS = st.tuples(st.sampled_from(["live", "draft", "gone"]), st.integers(0, 1), st.integers(0, 1))
"""The next status, total and time of an update, which may leave the row as it is."""
BUSINESS = st.lists(st.lists(STEPS, min_size=1, max_size=6), min_size=1, max_size=4)
State = tuple[str | None, int | None, int | None]


@pytest.fixture(scope="module", params=["row", "statement"])
def shop(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[psycopg.Connection[Any]]:
    """Two equal tables, one of which leaves out a column and one some states."""
    live = {"any": [{"before": {"status": "live"}}, {"after": {"status": "live"}}]}
    rules: list[dict[str, Any]] = [{"name": "seen", "ignore": ["updated_at"]}, {"name": "shown", "record_when": live}]
    tables = [AuditedTable.model_validate(each | {"level": request.param}) for each in rules]
    with new_database(postgres, template=template) as database, psycopg.connect(database) as conn:
        for name in ("seen", "shown"):
            conn.execute(
                sql.SQL("create table {} (id int primary key, status text, total int, updated_at int)").format(
                    sql.Identifier(name)
                )
            )
        conn.commit()
        schema.install(conn, Config(audit=AuditConfig(tables=tables)))
        yield conn


def do(conn: psycopg.Connection[Any], table: str, business: list[list[State]]) -> tuple[str, list[tuple[State, State]]]:
    """Update a row of its own; return its key and each change, the INSERT first."""
    record = scalar(conn, sql.SQL("select coalesce(max(id), 0) + 1 from {}").format(sql.Identifier(table)).as_string())
    insert = sql.SQL("insert into {} values (%s, %s, %s, %s)").format(sql.Identifier(table))
    update = sql.SQL("update {} set status = %s, total = %s, updated_at = %s where id = %s").format(
        sql.Identifier(table)
    )
    last: State = ("live", 0, 0)
    conn.execute(insert, [record, *last])
    conn.commit()
    made: list[tuple[State, State]] = [((None, None, None), last)]
    for transaction in business:
        for step in transaction:
            conn.execute(update, [*step, record])
            if step != last:
                made.append((last, step))
            last = step
        conn.commit()
    return str(record), made


def told(state: audit.RecordState) -> tuple[State, State]:
    images = [(image.value if image else {}) for image in (state.before_data, state.after_data)]
    before, after = [(image.get("status"), image.get("total"), image.get("updated_at")) for image in images]
    return before, after


@given(business=BUSINESS)
@example([[("draft", 0, 0), ("draft", 0, 1), ("live", 0, 0), ("draft", 0, 1)]])
@example([[("draft", 0, 0), ("live", 0, 0), ("live", 0, 1), ("gone", 0, 0), ("live", 0, 0)]])
def test_a_history_is_in_order_also_if_ignored_changes_lie_between(
    shop: psycopg.Connection[Any], business: list[list[State]]
) -> None:
    record, made = do(shop, "seen", business)
    states = audit.history("seen", record).order("oldest").limit(100).list(shop).data
    assert [told(state) for state in states] == [(old, new) for old, new in made if old[:2] != new[:2]]
    assert all(state.is_in_order or state.xact_id in recurring(states) for state in states)


def recurring(states: Sequence[audit.RecordState]) -> set[str]:
    """The transactions of which images tell two orders, so that none is claimed."""
    befores = [(state.xact_id, told(state)[0]) for state in states]
    afters = [(state.xact_id, told(state)[1]) for state in states]
    return {xact for xact, image in befores if (befores + afters).count((xact, image)) > 1}


@given(business=BUSINESS)
@example(
    [
        [("draft", 0, 0), ("draft", 0, 1), ("live", 0, 0), ("draft", 0, 1), ("draft", 0, 0)],
        [("live", 0, 0)],
    ]
)
def test_a_history_claims_no_order_and_no_state_that_it_cannot_know(
    shop: psycopg.Connection[Any], business: list[list[State]]
) -> None:
    record, made = do(shop, "shown", business)
    states = audit.history("shown", record).order("oldest").limit(100).list(shop).data
    recorded = [change for change in made if "live" in (change[0][0], change[1][0])]
    assert [told(state) for state in states] == recorded
    for state, (before, _), previous in zip(states[1:], recorded[1:], recorded, strict=False):
        assert before == previous[1] or not state.is_in_order


def test_rows_of_then_are_those_on_record_and_not_what_a_later_entry_found(shop: psycopg.Connection[Any]) -> None:
    key, _ = do(shop, "shown", [])
    shop.execute("insert into shown values (-1, 'draft')")
    shop.commit()
    [time] = shop.execute("select clock_timestamp()").fetchone() or []
    shop.execute("update shown set status = 'live' where id = -1")
    shop.execute("update shown set total = 7 where id = %s", [key])
    shop.commit()
    [after] = shop.execute("select clock_timestamp()").fetchone() or []
    assert audit.as_of("shown", time).record(-1).list(shop).data == []
    assert audit.as_of("shown", time).record(key).one(shop).values["total"] == 0
    assert audit.as_of("shown", after).record(-1).one(shop).values["status"] == "live"


def test_a_walk_that_only_a_missing_change_allows_is_not_taken(shop: psycopg.Connection[Any]) -> None:
    record, made = do(shop, "shown", [[("draft", 1, 1), ("gone", 2, 2), ("live", 0, 0)]])
    states = audit.history("shown", record).order("oldest").list(shop).data
    assert [told(state) for state in states] == [made[0], made[1], made[3]]
    assert [state.is_in_order for state in states] == [True, False, False]


def test_a_migration_brings_and_takes_the_rules_of_a_table_that_is_audited(database: str) -> None:
    create_and_audit(database, DDL, of_table())
    rules = of_table(ignore=["updated_at"], record_when={"changed": ["status", "total"]})
    with psycopg.connect(database) as conn:
        for wanted in (rules, of_table(ignore=["secret"]), of_table()):
            made = script(conn, wanted)
            assert made is not None
            conn.execute(made.upgrade.encode())
            conn.commit()
            assert {status.state for status in schema.status(conn, wanted)} == {"ok"}
        known = conn.execute("select table_name, ignored, is_conditional from svc.audit_omissions").fetchall()
    assert known == [("public.t", ["secret", "updated_at"], True)]


@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_backfill_records_the_rows_whose_insert_would_be_on_record(database: str, level: str) -> None:
    config = of_table(record_when={"after": {"status": "live"}}, redact={"status": "mask"}, level=level)
    create_and_audit(database, DDL, config)
    with psycopg.connect(database) as conn:
        conn.execute("set session_replication_role = replica")
        conn.execute("insert into t (id, status) values (1, 'live'), (2, 'draft'), (3, null)")
        conn.commit()
        assert [schema.backfill(conn, config) for _ in range(2)] == [{"public.t": 1}, {"public.t": 0}]
        assert brief(conn) == [("SNAPSHOT", "1", None)]


@pytest.mark.parametrize("level", ["row", "statement"])
def test_a_backfill_runs_no_condition_in_sql(database: str, level: str) -> None:
    config = of_table(record_when={"sql": "after ->> 'status' = 'live'"}, level=level)
    create_and_audit(database, DDL, config)
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1, 'live')")
        conn.commit()
        with pytest.raises(ConfigError, match=r'table "public\.t": record_when has SQL, which a backfill does not run'):
            schema.backfill(conn, config)
        assert [e["operation"] for e in log(conn)] == ["INSERT"]


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"ignore": ["updated"]}, 'table "public.t": ignore names "updated", and there is no such', "updated_at"),
        ({"ignore": ["id"]}, 'table "public.t": ignore names "id", which is part of the key', "always on record"),
        ({"ignore": ["total"], "key": ["total"]}, "part of the key", "always on record"),
        ({"record_when": {"changed": "stats"}}, 'record_when names "stats"', "status"),
        ({"record_when": {"sql": "no such"}}, "a condition cannot be evaluated", "jsonb"),
        ({"title": "stats"}, 'table "public.t": title names "stats"', "status"),
        ({"title": "status", "redact": ["status"]}, 'title names "status", which is not recorded', "anybody may see"),
        ({"title": "status", "columns": ["total"]}, 'title names "status", which is not recorded', "anybody may see"),
        ({"name": "public.*", "title": "stats"}, 'pattern "public.\\*": title names "stats"', "status"),
        ({"name": "public.*", "ignore": ["updated"]}, 'pattern "public.\\*": ignore names "updated"', "updated_at"),
    ],
)
def test_rules_that_do_not_fit_the_table_are_refused(
    database: str, options: dict[str, Any], message: str, hint: str
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(sql.SQL(DDL))
        conn.commit()
        with pytest.raises(ConfigError, match=message) as caught:
            schema.install(conn, of_table(**options))
        assert hint in (caught.value.hint or "")


def test_a_pattern_ignores_a_column_of_those_tables_that_have_it(database: str) -> None:
    config = of_table(name="public.*", ignore=["updated_at"])
    create_and_audit(database, "create table a (id int primary key, n int);" + DDL, config)
    with psycopg.connect(database) as conn:
        conn.execute("insert into t (id) values (1); insert into a values (1, 1)")
        conn.execute("update t set updated_at = now(); update a set n = 2")
        assert [(e["table_name"], e["operation"]) for e in log(conn)[2:]] == [("public.a", "UPDATE")]


def test_nobody_hides_a_change_by_the_settings_of_a_session(connect: Connect) -> None:
    conn = connect("create table t (id int primary key, f float8, seen int)", ignore=["seen"])
    conn.execute("insert into t values (1, 0.1, 1)")
    conn.execute("set extra_float_digits = -15")
    conn.execute("set search_path = pg_temp")
    conn.execute("update public.t set f = 0.10000000000000002, seen = 2")
    assert brief(conn)[1:] == [("UPDATE", "1", ["f", "seen"])]
