import asyncio
import base64
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, Final

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg import audit
from svc_pg.audit import AuditQuery
from svc_pg.audit.read.follow import follow
from svc_pg.audit.read.listing import listing
from svc_pg.database.pagination import Page
from svc_pg.database.query import scalar
from svc_pg.errors import ConfigError, NotInstalledError, QueryError, TransactionError
from tests.support.pages import all_rows
from tests.support.selections import NOW, SELECTED, WRITTEN
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until


def write(conn: psycopg.Connection[Any], record: str, **columns: Any) -> None:
    """An entry as a trigger would write it, with these columns."""
    values = {
        "table_name": "public.t",
        "table_oid": 0,
        "operation": "UPDATE",
        "record_id": record,
        "timestamp": NOW + timedelta(minutes=int(record)),
    } | columns
    names = ", ".join(f'"{name}"' for name in values)
    conn.execute(f"insert into svc.audit_logs ({names}) values ({', '.join(['%s'] * len(values))})", [*values.values()])


def records(conn: psycopg.Connection[Any], query: AuditQuery) -> list[str | None]:
    return [entry.record_id for entry in query.list(conn).data]


@pytest.mark.parametrize(("ask", "expected"), SELECTED)
def test_each_filter_selects_its_entries(
    conn: psycopg.Connection[Any], ask: Callable[[AuditQuery], AuditQuery], expected: str
) -> None:
    for record, columns in WRITTEN.items():
        write(conn, record, table_name="public.invoice" if record == "5" else "public.t", **columns)
    assert records(conn, ask(audit.query())) == expected.split()


KEYS = """
    create table k (n numeric(9, 2), f float8, at timestamptz, u uuid, s text, b bool, primary key (n, f, at, u, s, b));
    create table t (at timestamptz primary key)
"""
KEPT = """
    insert into k
    select n, f, at, gen_random_uuid(), e'\\n"é', true
      from unnest(array[100, 0.5], array[1, 1e22], array['2026-01-31 12:00:00.500Z', '0026-01-31Z']::timestamptz[])
           kept(n, f, at);
    insert into t select at from k
"""


def test_a_record_is_found_by_the_values_of_its_key_as_a_driver_reads_them(database: str) -> None:
    create_and_audit(database, KEYS, audited("k", "t"))
    with psycopg.connect(database) as conn:
        conn.execute("set timezone = 'Asia/Kolkata'")
        conn.execute(KEPT)
        keys = conn.execute("select * from k").fetchall()
        for key in keys:
            assert len(records(conn, audit.query().resource("k").record(key))) == 1
            assert len(audit.history("t", key[2]).list(conn).data) == 1
        assert len(keys) == 2


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_pages_in_either_order_hold_every_entry_once(conn: psycopg.Connection[Any], order: str) -> None:
    for record in range(1, 8):
        write(conn, str(record), timestamp=NOW + timedelta(days=40 * (record // 3)))  # three of them at one time
    seen = [entry.record_id for entry in all_rows(conn, audit.query().order(order).limit(2))]
    expected = [str(record) for record in range(1, 8)]
    assert seen == (expected if order == "oldest" else expected[::-1])


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_entries_of_one_moment_are_in_the_order_of_their_ids(conn: psycopg.Connection[Any], order: str) -> None:
    for number in range(12):
        write(conn, str(number), timestamp=NOW)
    first = int(audit.query().order("oldest").limit(1).list(conn).data[0].id)
    conn.execute("alter sequence svc.audit_logs_id_seq restart with 99999999999998")  # as text, 100... is before 99...
    for number in range(12, 16):
        write(conn, str(number), timestamp=NOW)
    seen, cursor = [], None
    while True:
        asked = audit.query().order(order).limit(3)
        page = (asked if cursor is None else asked.after(cursor)).list(conn)
        seen += [int(entry.id) for entry in page.data]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == sorted(seen, reverse=order == "newest")
    assert (len(seen), min(seen)) == (16, first)


def test_the_order_may_be_said_after_the_cursor(conn: psycopg.Connection[Any]) -> None:
    for record in range(1, 4):
        write(conn, str(record))
    cursor = audit.query().order("oldest").limit(1).list(conn).next_cursor
    assert cursor
    assert records(conn, audit.query().after(cursor).order("oldest")) == ["2", "3"]


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_a_page_behind_a_cursor_reads_no_partition_before_it(conn: psycopg.Connection[Any], order: str) -> None:
    for month in range(1, 6):
        write(conn, "1", timestamp=datetime(2020, month, 10, tzinfo=UTC))
    conn.execute("select svc.audit_ensure_partitions()")
    conn.execute("set local enable_seqscan = off")
    middle = audit.query().order("oldest").limit(3).list(conn).next_cursor
    assert middle
    behind = {"newest": [1, 2, 3], "oldest": [3, 4, 5]}
    query = audit.query().order(order)
    for page, months in ((query.after(middle), behind.pop(order)), (query.before(middle), behind.popitem()[1])):
        statement = listing(page)._query()
        plan = "".join(line for (line,) in conn.execute("explain (costs off) " + statement.text, statement.params))
        assert [month for month in range(1, 6) if f"audit_logs_2020_{month:02d}" in plan] == months


def test_what_is_important_is_found_without_reading_what_is_not(conn: psycopg.Connection[Any]) -> None:
    conn.execute("""insert into svc.audit_logs (table_name, table_oid, operation, record_id, severity)
                    select 'public.t', 0, 'UPDATE', n::text,
                           case when n % 1000 = 0 then 'high' when n % 500 = 0 then 'low' end::svc.audit_severity
                      from generate_series(1, 10000) n""")
    conn.execute("analyze svc.audit_logs")
    for wanted in (audit.query().severity(at_least="medium"), audit.query().severity("high", "critical")):
        statement = listing(wanted.since("1h").limit(5))._query()
        plan = conn.execute("explain (analyze, costs off, timing off) " + statement.text, statement.params)
        removed = [int(line.rpartition(" ")[2]) for (line,) in plan if "Rows Removed by Filter" in line]
        assert sum(removed) <= 10, "of entries of low severity"
        assert len(wanted.limit(5).list(conn).data) == 5


def test_a_query_is_not_changed_by_what_is_made_of_it(conn: psycopg.Connection[Any]) -> None:
    write(conn, "1")
    everything = audit.query()
    everything.label("other").order("oldest").limit(1)
    assert everything == audit.query()
    assert records(conn, everything) == ["1"]


def test_the_async_list_is_the_same(database: str) -> None:
    with psycopg.connect(database) as conn:
        write(conn, "1", before_data=Jsonb({"n": 1}))
        sync = audit.query().list(conn)

        async def read() -> Page[audit.Entry]:
            async with await psycopg.AsyncConnection.connect(database) as aconn:
                return await audit.query().order("oldest").alist(aconn)

        conn.commit()
        assert asyncio.run(read()) == sync


def forged(*key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


@pytest.mark.parametrize(
    "ask",
    [
        lambda q: q.severity("urgent"),
        lambda q: q.severity(),
        lambda q: q.severity("low", at_least="low"),
        lambda q: q.severity(at_least="LOW"),
        lambda q: q.severity("low", "urgent"),
        lambda q: q.without(severity=["urgent"]),
        lambda q: q.without(operation=["PURGE"]),
        lambda q: q.missing("time"),
        lambda q: q.missing(),
        lambda q: q.actor(),
        lambda q: q.actor(*map(str, range(21))),
        lambda q: q.without(label=list(map(str, range(21)))),
        lambda q: q.only("password"),
        lambda q: q.operation("PURGE"),
        lambda q: q.order("random"),
        lambda q: q.label("a\0b"),
        lambda q: q.record(None),
        lambda q: q.actor("\udcff"),
        lambda q: q.limit(0),
        lambda q: q.limit(1001),
        lambda q: q.since("1 fortnight"),
        lambda q: q.since("-1h"),
        lambda q: q.since(datetime(2026, 1, 1)),  # noqa: DTZ001 - naive on purpose
        lambda q: q.after("no cursor"),
        lambda q: q.after(forged("2026-01-01T00:00:00", "1")),
        lambda q: q.after(forged("2026-01-01T00:00:00Z", "x")),
        lambda q: q.after(forged("2026-01-01T00:00:00Z")),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint_before_it_is_asked(
    ask: Callable[[AuditQuery], AuditQuery],
) -> None:
    with pytest.raises(QueryError) as caught:
        ask(audit.query())
    assert caught.value.message


def test_a_list_of_some_fields_reads_no_others(conn: psycopg.Connection[Any]) -> None:
    write(conn, "1", actor_id="ann", before_data=Jsonb({"a": 1}))
    write(conn, "2")
    for query in (audit.query(), audit.query().resource("t").record("1")):
        chosen = query.only("actor_id", "record_id").order("oldest").limit(1).list(conn)
        [entry] = chosen
        assert (entry.actor_id, entry.record_id, entry.table_name) == ("ann", "1", "public.t")
        assert not hasattr(entry, "before_data")
    assert chosen.next_cursor is None
    assert [entry.record_id for entry in all_rows(conn, audit.query().only("record_id").limit(1))] == ["2", "1"]


def test_a_name_that_is_no_table_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a table name"):
        audit.query().resource("a.b.c")


def test_a_database_without_svc_is_named_as_such(empty_database: str) -> None:
    with psycopg.connect(empty_database) as conn, pytest.raises(NotInstalledError) as caught:
        audit.query().severity("low").list(conn)
    assert caught.value.hint == "Run: svc-pg install"


def test_following_sees_the_rows_of_a_slow_transaction_that_commits_late(database: str) -> None:
    create_and_audit(database, "create table t (id int primary key)", audited("t"))
    seen: list[str | None] = []

    def read() -> None:
        with psycopg.connect(database) as conn:
            for entry in follow(conn, audit.query().resource("t"), pause=timedelta(milliseconds=10)):
                seen.append(entry.record_id)
                if entry.record_id == "0":
                    return

    with ThreadPoolExecutor(1) as pool, psycopg.connect(database) as slow, psycopg.connect(database) as quick:
        quick.execute("insert into t values (-1)")
        quick.commit()
        slow.execute("insert into t values (1)")
        reader = pool.submit(read)
        wait_until(lambda: seen == ["-1"], "the newest page was read")
        quick.execute("insert into t values (2)")
        quick.commit()
        slow.execute("insert into t values (3)")
        assert records(quick, audit.query().resource("t")) == ["2", "-1"]
        quick.commit()
        slow.commit()
        wait_until(lambda: len(seen) == 4, "both transactions were read")
        quick.execute("insert into t values (0)")
        quick.commit()
        reader.result(timeout=10)
    assert seen[0] == "-1"
    assert seen[1:] == ["1", "2", "3", "0"]


def test_a_reader_that_breaks_off_between_two_entries_can_leave_its_connection(database: str) -> None:
    create_and_audit(database, "create table t (id int primary key)", audited("t"))
    with psycopg.connect(database, autocommit=True) as writer, psycopg.connect(database) as conn:
        writer.execute("insert into t values (0)")
        entries = follow(conn, audit.query().resource("t"), pause=timedelta(milliseconds=10))
        assert next(entries).record_id == "0"
        writer.execute("insert into t values (1), (2)")
        assert next(entries).record_id == "1"
        leaving = Thread(target=conn.__exit__, args=(KeyboardInterrupt, KeyboardInterrupt(), None), daemon=True)
        leaving.start()
        leaving.join(30)
        assert not leaving.is_alive()
        entries.close()


def test_following_needs_a_connection_outside_a_transaction(conn: psycopg.Connection[Any]) -> None:
    conn.execute("select 1")
    with pytest.raises(TransactionError, match="inside a transaction"):
        next(follow(conn, audit.query()))


READ: Final = """
select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int from pg_stat_xact_user_tables
 where schemaname = 'svc' and relname like 'audit_logs%'
"""


def test_a_transaction_is_found_through_its_index_also_by_a_plan_that_is_kept(database: str) -> None:
    with psycopg.connect(database) as conn:  # whose index knows no rows that other tests took back
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, xact_id)"
            " select 't', 0, 'INSERT', n from generate_series(1, 20000) n"
        )
        conn.execute(
            "select brin_summarize_new_values(c.oid) from pg_class c join pg_am m on m.oid = c.relam"
            " where m.amname = 'brin' and c.relkind = 'i' and c.relname like 'audit_logs%'"
        )
        conn.execute("analyze svc.audit_logs")
        conn.execute("set local plan_cache_mode = force_generic_plan")
        query = audit.transaction(5)
        assert len(query.list(conn).data) == 1
        before = scalar(conn, READ)
        query.list(conn)
        # The rows and their context each read one range of the index: 32 pages, some 3,100 of these rows
        assert scalar(conn, READ) - before < 7_000
