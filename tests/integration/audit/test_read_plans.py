"""What is read of a long log has a bound, whatever the statistics of the planner say, and if there are none."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any, Final, LiteralString

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from svc_pg.audit import AuditQuery
from svc_pg.audit.exports import copy_stretches
from svc_pg.audit.exports.following import following_lines
from svc_pg.audit.log.export_fields import Lines
from svc_pg.audit.read import follow_pages, search
from svc_pg.audit.read.audit_query import entry
from svc_pg.audit.read.facets import afacets
from svc_pg.audit.read.follow_pages import following
from svc_pg.audit.read.horizon import horizon, horizon_after
from svc_pg.audit.read.listing import listing
from svc_pg.audit.read.log_position import START, Position
from svc_pg.audit.read.stats import astats
from svc_pg.database.pagination import encode
from svc_pg.database.query import afetch_one, fetch, scalar
from svc_pg.errors import QueryError
from tests.support.long_log import BULK, HOT, PAGES, STATES, Statistics, apages, fill, know, pages
from tests.support.postgres import new_database
from tests.support.tables import audited, create_and_audit

Connection = psycopg.Connection[Any]

ENTRIES: Final = 200_000
MOST: Final = 30


@pytest.fixture(scope="module")
def filled(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            fill(conn, ENTRIES)
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, filled: str) -> Iterator[Connection]:
    with new_database(postgres, template=filled) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        know(conn, request.param)
        yield conn


def test_a_page_of_rows_as_of_a_time_costs_a_probe_a_record_wherever_it_begins(conn: Connection) -> None:
    past = audit.as_of("t", timedelta(days=30)).limit(50)
    first = past.list(conn)
    assert len(first.data) == 50
    assert first.next_cursor is not None
    middle = past.after(first.next_cursor).list(conn)
    assert middle.next_cursor is not None
    assert middle.prev_cursor is not None
    for query in (past, past.after(middle.next_cursor), past.before(middle.prev_cursor)):
        assert pages(conn, partial(query.list, conn)) < 7_000
    assert past.before(middle.prev_cursor).list(conn).data == first.data


def test_rows_as_of_a_time_cost_the_same_if_very_many_records_were_new_later_in_its_month(conn: Connection) -> None:
    middle_of_bulk = datetime.now(UTC) - timedelta(days=108)
    past = audit.as_of("t", middle_of_bulk.replace(day=3)).limit(50)
    assert pages(conn, partial(past.list, conn)) < 7_000
    assert pages(conn, partial(past.record(HOT).list, conn)) < 100


@pytest.mark.parametrize("statistics", STATES)
def test_the_first_of_very_many_entries_of_a_late_table_is_not_sought(
    postgres: str, filled: str, statistics: Statistics
) -> None:
    first, state = "select svc.audit_first_of_table('public.late')", "select svc.audit_last_truncate('public.late', %s)"
    with new_database(postgres, template=filled) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        know(conn, statistics)
        for number in (10_000, 20_000):
            conn.execute(
                """insert into svc.audit_logs (table_name, table_oid, operation, record_id, after_data)
                   select 'public.late', 0, 'INSERT', n, jsonb_build_object('n', repeat(md5(n::text), 10))
                     from generate_series(%s::int, %s::int) n""",
                [number - 9_999, number],
            )
            assert scalar(conn, "select isfinite(svc.audit_first_of_table('public.late'))") == (number == 10_000)
        assert pages(conn, lambda: conn.execute(first)) < 3_500  # all of its entries have some 5,000
        with pytest.raises(psycopg.Error, match=r'"public\.late" is not known at that time'):
            conn.execute(state, [datetime.now(UTC) - timedelta(days=300)])


@pytest.mark.parametrize("table", ["t", "u"])
def test_a_time_before_very_many_records_of_the_first_month_costs_no_look_at_each(
    postgres: str, template: str, table: str
) -> None:
    """Records are found by their keys, and all but the last ones are later; of another table there are few."""
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        create_and_audit(conninfo, "create table t (id bigint primary key); create table u (id int)", audited("t", "u"))
        conn.execute("insert into u values (1); insert into t values (9999999), (9999998)")
        time = scalar(conn, "select clock_timestamp()")
        conn.execute(
            """insert into svc.audit_logs (table_name, table_oid, operation, record_id, after_data)
               select 'public.t', 't'::regclass, 'INSERT', n, '{}' from generate_series(1000000, 1100000) n"""
        )
        look = partial(conn.execute, "select svc.audit_last_truncate(%s, %s)", (f"public.{table}", time))
        look()
        assert pages(conn, look) < 200
        if table == "t":
            assert conn.execute("select record_id from svc.as_of_public_t(%s, '1000000')", (time,)).fetchall() == []


def test_a_record_as_of_a_time_is_one_probe_however_many_entries_it_has(conn: Connection) -> None:
    for days in (10, 60, 230):
        past = audit.as_of("t", timedelta(days=days)).record(HOT)
        assert len(past.list(conn).data) == 1
        assert pages(conn, partial(past.list, conn)) < 300


def test_a_record_with_few_entries_costs_those_alone_among_many_of_its_table(conn: Connection) -> None:
    record = "1017"
    entries = audit.query().resource("t").record(record).limit(100)
    assert 10 < len(entries.list(conn).data) < 100
    for days in (10, 60, 230):
        assert pages(conn, partial(audit.as_of("t", timedelta(days=days)).record(record).list, conn)) < 150
    history = audit.history("t", record).limit(100)
    for read in (
        entries.list,
        history.list,
        history.order("oldest").list,
        partial(audit.blame, table="t", record=record),
        partial(audit.last_changes, table="t", record=record),
    ):
        assert pages(conn, partial(read, conn)) < 600


def test_the_origins_of_the_fields_of_a_record_cost_what_lies_after_them(conn: Connection) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute(
            "insert into svc.audit_logs (table_name, table_oid, operation, record_id, before_data, after_data,"
            " changed_fields) select 'public.t', 0, 'UPDATE', '1', jsonb_build_object('id', 1, 'a', n),"
            " jsonb_build_object('id', 1, 'a', n + 1), array['a', 'id'] from generate_series(1, 3) n"
        )
        assert {origin.operation for origin in audit.blame(conn, "t", HOT)} == {"UPDATE"}
        assert pages(conn, lambda: audit.blame(conn, "t", HOT)) < 2_000


def test_the_origins_of_fields_that_very_many_entries_left_alone_are_found_page_by_page(conn: Connection) -> None:
    page = audit.blame(conn, "t", HOT)
    assert [(origin.field, origin.unchanged_since is None) for origin in page] == [("a", True), ("id", False)]
    since = [origin.unchanged_since for origin in page][1]
    assert since is not None
    for _ in range(20):
        cursor = page.next_cursor
        assert pages(conn, lambda after=cursor: audit.blame(conn, "t", HOT, after=after)) < 8_000  # type: ignore[misc]
        if cursor is None:
            break
        page = audit.blame(conn, "t", HOT, after=cursor)
        [left] = page.data
        if page.next_cursor is not None:
            assert left.unchanged_since is not None
            assert left.unchanged_since < since
            since = left.unchanged_since
    [[first]] = conn.execute(
        "select min(\"timestamp\") from svc.audit_logs where table_name = 'public.t' and record_id = '1'"
    ).fetchall()
    assert (left.field, left.entry_id, left.known_since, left.unchanged_since) == ("id", None, first, None)


LISTS: Final[list[tuple[AuditQuery, LiteralString]]] = [
    (audit.query().changed("email"), "changed_fields && '{email}'"),
    (audit.query().compliance("gdpr"), "compliance && '{gdpr}'"),
    (audit.query().label("rare"), "label = 'rare'"),
    (audit.query().severity("critical"), "severity = 'critical'"),
    (audit.query().tenant("rare"), "tenant_id = 'rare'"),
    (audit.query().actor("rare"), "actor_id = 'rare'"),
    (
        audit.query().actor("rare", "actor 3").changed("email"),
        "actor_id in ('rare', 'actor 3') and changed_fields && '{email}'",
    ),
    (audit.query().resource("rare"), "table_name = 'public.rare'"),
    (audit.query().resource("t").label("rare"), "table_name = 'public.t' and label = 'rare'"),
    (audit.query().tenant("tenant 7").severity("critical"), "tenant_id = 'tenant 7' and severity = 'critical'"),
    (audit.query().operation("TRUNCATE"), "operation = 'TRUNCATE'"),
    (audit.query().missing("tenant").severity(at_least="high"), "tenant_id is null and severity >= 'high'"),
    (audit.query().label("nobody's"), "false"),
    (audit.query().label("rare").since("100d"), "label = 'rare' and \"timestamp\" >= now() - interval '100 d'"),
    (audit.query().transactions(since=BULK, before=BULK + 1).label("rare"), "xact_id = 7 and label = 'rare'"),
]


@pytest.mark.parametrize("query", [query for query, _ in LISTS])
def test_a_page_of_any_list_has_a_bound(conn: Connection, query: AuditQuery) -> None:
    for order in ("oldest", "newest"):
        assert pages(conn, partial(query.order(order).list, conn)) < 12_000


def test_the_reads_of_a_table_cost_those_alone(conn: Connection) -> None:
    for query in (audit.reads("public.t"), audit.reads("public.t", HOT), audit.reads("public.t").since("100d")):
        assert pages(conn, partial(query.list, conn)) < 1_000


@pytest.fixture(scope="module")
def short(postgres: str, template: str) -> Iterator[Connection]:
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        fill(conn, 45_000)
        yield conn


@pytest.mark.parametrize(("query", "condition"), LISTS)
def test_pages_that_end_in_their_bound_skip_and_repeat_no_entry(
    short: Connection, query: AuditQuery, condition: LiteralString
) -> None:
    text = "select id::text from svc.audit_logs where " + condition + ' order by "timestamp", id'
    ids = [entry_id for (entry_id,) in short.execute(text)]
    for order, size in (("oldest", 3), ("newest", 1000)):
        expected = ids if order == "oldest" else ids[::-1]
        ordered = query.order(order).limit(size)
        page = ordered.list(short)
        found = [each.id for each in page]
        while page.next_cursor is not None and len(found) < MOST:
            page = ordered.after(page.next_cursor).list(short)
            found += [each.id for each in page]
        assert found == (expected if len(found) < MOST else expected[: len(found)])
        end = "2999-01-01T00:00:00Z" if order == "oldest" else "1970-01-01T00:00:00Z"
        page = ordered.before(encode((end, "1"))).list(short)
        seen = [each.id for each in page]
        while page.prev_cursor is not None and len(seen) < MOST:
            page = ordered.before(page.prev_cursor).list(short)
            seen = [*(each.id for each in page), *seen]
        assert seen == (expected if len(seen) < MOST else expected[len(expected) - len(seen) :])


@pytest.fixture(scope="module")
def shorter(postgres: str, template: str) -> Iterator[Connection]:
    with new_database(postgres, template=template) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        fill(conn, 12_000)
        yield conn


@pytest.mark.parametrize("days", [1, 150])
def test_a_table_as_of_a_time_has_the_rows_of_its_records_each_looked_up_alone(shorter: Connection, days: int) -> None:
    text = """
    with key as materialized (
        select record_id from svc.audit_logs where table_name = 'public.t' and record_id is not null
        union select moved_from from svc.audit_logs where table_name = 'public.t' and moved_from is not null
    )
    select r."svc key", r::text
      from key cross join lateral svc.as_of_public_t(%(time)s, key.record_id) r("svc key")
     order by r."svc key" collate "C"
    """
    whole: LiteralString = 'select r."svc key", r::text from svc.as_of_public_t(%(time)s) r("svc key")'
    time = datetime.now(UTC) - timedelta(days=days)
    each = shorter.execute(text, {"time": time}).fetchall()
    assert len(each) > 300
    assert shorter.execute(whole, {"time": time}).fetchall() == each
    alone = [key for key, _ in each]
    past = audit.as_of("t", time).limit(1000)
    page = past.list(shorter)
    found = [row.record_id for row in page.data]
    while page.next_cursor is not None:
        page = past.after(page.next_cursor).list(shorter)
        found += [row.record_id for row in page.data]
    assert found == alone
    page = past.before(encode(("\U0010ffff", time.isoformat()))).list(shorter)
    found = [row.record_id for row in page.data]
    while page.prev_cursor is not None:
        page = past.before(page.prev_cursor).list(shorter)
        found = [*(row.record_id for row in page.data), *found]
    assert found == alone


def test_the_states_and_the_entries_of_a_record_cost_what_they_show(conn: Connection) -> None:
    for most, query in (
        (4_000, audit.history("t", HOT).limit(100)),
        (4_000, audit.history("t", HOT).order("oldest").limit(100)),
        (2_500, audit.history("t", HOT).limit(24)),  # the page of tracks
        (3_000, audit.history("t", "402").limit(500)),
        (2_500, audit.query().resource("t").record(HOT).limit(100)),
        (2_500, audit.query().resource("t").record(HOT).order("oldest").limit(100)),
        (2_500, audit.query().resource("t").record(HOT).since("100d").until("50d").limit(100)),
        (8_000, audit.query().resource("t").record(HOT).label("frequent").limit(100)),
        (8_000, audit.query().record(HOT).limit(100)),
    ):
        page = query.list(conn)
        assert page.data
        for asked in (query, query if page.next_cursor is None else query.after(page.next_cursor)):
            assert pages(conn, partial(asked.list, conn)) < most


@pytest.mark.parametrize("query", [audit.query(), audit.query().until("30d"), *(query for query, _ in LISTS)])
def test_counts_and_searches_have_a_bound(conn: Connection, query: AuditQuery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_TIMEOUT", "60000")
    asked = [search.with_fact(query, "nobody's"), search.contains(query, '{"a": -1}'), search.with_text(query, "none")]
    counted: list[tuple[int, Callable[[AsyncConnection[Any]], Awaitable[object]]]] = [
        (14_000, partial(afacets, query=query)),
        (60_000, partial(astats, query=query)),
        *((25_000, partial(search.search, wanted=listing(each), max_bytes=1_000_000)) for each in asked),
    ]
    for most, call in counted:
        assert asyncio.run(apages(conn.info.dsn, call)) < most, call


@pytest.mark.parametrize("query", [query for query, _ in LISTS])
def test_a_page_of_a_follower_looks_at_so_many_entries(
    conn: Connection, query: AuditQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_pages, "MAX_STRETCHES", 2)
    before = Position(horizon(conn).position).cursor
    for _ in range(3):
        conn.execute("select svc.audit_add_entry('public.t', 'UPDATE', '2')")
    for most, cursor in ((12_000, START), (4_000, before)):
        page = partial(following, query=query, cursor=cursor, max_bytes=1_000_000)
        assert asyncio.run(apages(conn.info.dsn, page)) < most


@pytest.mark.parametrize(("query", "condition"), LISTS)
def test_followers_and_exports_that_go_on_stretch_by_stretch_skip_and_repeat_no_entry(
    short: Connection, query: AuditQuery, condition: LiteralString, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_stretches, "MAX_ENTRIES", 5_000)
    text = "select id::text from svc.audit_logs where " + condition + ' order by "timestamp", id'
    ids = [entry_id for (entry_id,) in short.execute(text)]
    out = BytesIO()
    audit.export(short, query, format="ndjson", out=out)
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == ids
    assert asyncio.run(followed(short.info.dsn, query, START)) == ids
    with closing(following_lines(short, query)) as parts:
        assert [*until_end(parts)] == ids


def until_end(parts: Iterator[Lines]) -> Iterator[str]:
    for lines in parts:
        yield from (json.loads(line)["id"] for line in lines.text.splitlines())
        if lines.is_end:
            return


async def followed(conninfo: str, query: AuditQuery, cursor: str) -> list[str]:
    found: list[str] = []
    async with await AsyncConnection.connect(conninfo) as conn:
        end = Position((await afetch_one(conn, horizon_after(None))).position).cursor
        while cursor != end:
            page = await following(conn, query, cursor, max_bytes=1_000_000)
            assert page.next_cursor is not None
            found += [each.id for each in page]
            cursor = page.next_cursor
    return found


def test_a_transaction_and_an_entry_are_found_by_their_numbers(conn: Connection) -> None:
    small = audit.transaction(10 + ENTRIES // 2 - 1)  # a number that the server has not reached
    [_, last] = small.list(conn).data
    assert pages(conn, lambda: small.list(conn)) < 1_500
    assert pages(conn, lambda: fetch(conn, entry(last.id))) < 1_500
    assert [each.id for each in fetch(conn, entry(last.id))] == [last.id]
    # An entry may stand where an earlier page had room: then each look reads that range of 32 pages too
    assert pages(conn, lambda: audit.transaction(BULK).limit(50).list(conn)) < 4_000


def test_a_transaction_that_is_too_large_to_revert_is_refused_before_its_entries_are_looked_at(
    conn: Connection,
) -> None:
    with conn.transaction(force_rollback=True):
        before = scalar(conn, PAGES)
        with (
            pytest.raises(QueryError, match=f"transaction {BULK} has more than 5000 entries"),
            conn.transaction(),
        ):
            audit.revert(conn, transaction=BULK)
        assert scalar(conn, PAGES) - before < 7_000


def test_a_log_of_another_server_is_told_apart_without_reading_the_month_of_its_restore(conn: Connection) -> None:
    mixed = "select svc.audit_is_mixed()"
    assert conn.execute(mixed).fetchall() == [(False,)]
    assert pages(conn, lambda: conn.execute(mixed)) < 200
    with conn.transaction(force_rollback=True):
        conn.execute(
            "insert into svc.audit_logs (id, xact_id, table_name, table_oid, operation) overriding system value"
            " values (1, 2 ^ 40, 'public.t', 0, 'INSERT')"
        )
        assert conn.execute(mixed).fetchall() == [(True,)]


def test_a_purge_finds_the_entries_of_rare_tables_without_those_of_others(conn: Connection) -> None:
    [[partition]] = conn.execute(
        "select i.inhrelid from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass"
        " order by pg_relation_size(i.inhrelid) desc limit 1"
    ).fetchall()
    with conn.transaction(force_rollback=True):
        before = conn.execute(PAGES).fetchall()[0][0]
        [[entries]] = conn.execute(
            "select entries from svc.audit_purge_entries(%s, null, null, 'infinity', '{}', '{}', 2000)", (partition,)
        ).fetchall()
        touched = conn.execute(PAGES).fetchall()[0][0] - before
    assert entries == 2000
    assert touched < 25_000
