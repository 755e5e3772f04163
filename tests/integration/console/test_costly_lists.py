"""The dearest questions to the lists of deliveries, messages and console events: what is read has a bound in rows.

Rows are counted, as for the log: a question whose bound is missing reads the whole table.
"""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import psycopg
import pytest
from psycopg import AsyncConnection
from starlette.datastructures import QueryParams

from svc_pg.console import Console
from svc_pg.console.http.parameters import PAGE, declared, filtered
from svc_pg.console.sessions import event_log
from svc_pg.console.sessions.event_log import EventFilter
from svc_pg.console.views.list_questions import keys_of
from svc_pg.console.views.named_views import ViewedList
from svc_pg.database import stretches
from svc_pg.database.pagination import Listing, Page, decode, encode
from svc_pg.database.performing import arun
from svc_pg.database.query import scalar
from svc_pg.questions.reading import read
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import MessageFilter
from tests.benchmarks.week import fill_growing
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.long_log import STATES, know
from tests.support.postgres import new_database

ROWS: Final = 6_000
MOST: Final = 500
FEW: Final = 100
"""Rows of other tables."""

DELIVERIES: Final = {
    "an event beside a tenant": "event:order.paid tenant:nobody",
    "a tenant beside an event": "event:nobody tenant:tenant-2",
    "a state and an event": "status:failed event:nobody",
    "the usual state and an event": "status:delivered event:nobody",
    "the usual state and a tenant": "status:delivered tenant:nobody",
    "what was canceled, of a tenant": "status:canceled tenant:nobody",
    "an endpoint and an event": "endpoint:{endpoint} event:nobody",
    "an endpoint and a tenant": "endpoint:{endpoint} tenant:nobody",
    "an endpoint and failures of an event": "endpoint:{endpoint} status:failed event:nobody",
    "two endpoints": "endpoint:{endpoint} status:delivered event:nobody tenant:nobody",
    "a long time and an event": "since:3650d event:nobody",
    "a long time and a tenant": "since:3650d tenant:nobody",
    "the time of the end": "since:3650d finished-until:3000d",
    "the time of the end, of an endpoint": "endpoint:{endpoint} finished-until:3000d",
    "a time of long ago": "until:3000d event:order.paid",
    "everything at once": "since:3650d until:1m status:delivered event:nobody tenant:nobody finished-until:1m",
    "an event that nobody wanted": "event:order.unheard",
    "a tenant, most of whose events nobody wanted": "tenant:tenant-2",
    "a day": "since:6d until:5d",
    "a day and a rare event": "since:6d until:5d event:nobody",
    "a day of an endpoint": "endpoint:{endpoint} since:6d until:5d event:nobody",
    "failures of a day": "since:6d until:5d status:failed event:nobody",
    "what was canceled, of an endpoint": "endpoint:{endpoint} status:canceled event:nobody",
    "a day of long ago": "since:3001d until:3000d",
    "what waits, and a rare event": "status:pending event:nobody",
    "a value that many have": "payload:number=1045 event:order.unheard",
    "a value that many have, of no tenant": "payload:number=1045 tenant:nobody",
    "a value that many have, and failures": "payload:number=1045 status:failed event:order.unheard",
    "a value that many have, and an endpoint": "payload:number=1045 endpoint:{endpoint} event:order.unheard",
    "a value that many have, long ago": "payload:number=1045 until:3000d",
    "a value that many have, just now": "payload:number=1045 since:1s",
    "a value that nobody has": "payload:number=7",
}
OWN: Final = {
    "all": "",
    "an event": "event:nobody",
    "failures": "status:failed",
    "what was delivered": "status:delivered",
    "what waits": "status:pending",
    "a long time": "since:3650d",
    "a day": "since:6d until:5d",
    "a time of long ago": "until:3000d",
    "a foreign endpoint": "endpoint:{endpoint}",
    "another tenant": "tenant:nobody",
    "a value that many have": "payload:number=1045",
}
"""Questions of a session of one tenant."""
MESSAGES: Final = {
    "an event": "event:nobody",
    "a tenant": "tenant:nobody",
    "a tenant beside an event": "event:nobody tenant:tenant-2",
    "an event beside a tenant": "event:order.paid tenant:nobody",
    "a time of long ago": "until:3000d",
    "an event of long ago": "until:3000d event:order.paid",
    "a long time, an event and a tenant": "since:3650d until:1m event:nobody tenant:tenant-2",
    "a day": "since:6d until:5d",
    "a day and an event": "since:6d until:5d event:nobody",
    "a day and a tenant": "since:6d until:5d tenant:tenant-2 event:nobody",
    "a day of long ago": "since:3001d until:3000d event:order.paid",
    "a value that many have": "payload:number=1045 event:order.paid",
    "a value that many have, of a tenant": "payload:number=1045 tenant:tenant-2 event:order.paid",
    "a value that many have, long ago": "payload:number=1045 since:3650d until:3000d",
}
EVENTS: Final[dict[str, dict[str, str]]] = {
    "a person": {"email": "nobody"},
    "a kind": {"event": "view_deleted"},
    "both in a long time": {"email": "nobody", "event": "view_deleted", "since": "3650d"},
    "a person on a day": {"email": "nobody", "since": "3d", "until": "2d"},
}
_EVENTS: Final = """
insert into svc.console_events (event, email, occurred_at)
select 'signed_in', 'person' || n % 50, now() - make_interval(mins => 6000 - n) from generate_series(1, 6000) n
"""
_UNHEARD: Final = """
with other_event as (
    update svc.webhook_event_types set search = '{number}' where name = 'order.paid'
),
event as (
    insert into svc.webhook_event_types (name, description, patterns, search)
    values ('order.unheard', 'No endpoint wants it', '{order.unheard}', '{number}')
),
message as (
    insert into svc.webhook_messages (id, event_name, payload, tenant, created_at)
    select overlay(svc.uuid7_at(at)::text placing substr(md5('unheard' || n), 1, 12) from 25)::uuid, 'order.unheard',
           '{"number": 1045}', case when n % 2 = 0 then 'tenant-2' end, at
      from (select n, now() - n * interval '100 s' as at from generate_series(1, 6000) n) m
    returning id, tenant
)
insert into svc.webhook_search_values (message_id, digest, tenant)
select id, svc.webhook_search_digest('number', '1045'), tenant from message
"""
_WORK: Final = """
select coalesce(sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))
                filter (where relkind = 'r'), 0)::int,
       coalesce(sum(pg_stat_get_xact_tuples_returned(oid)) filter (where relkind = 'i'), 0)::int
  from pg_class where relnamespace = 'svc'::regnamespace and relkind in ('r', 'i')
"""


@pytest.fixture(scope="module", params=STATES)
def installed(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        fill_growing(conninfo, deliveries=ROWS)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute(_EVENTS)
            conn.execute(_UNHEARD)
            conn.execute("vacuum")
            know(conn, request.param)
        yield conninfo


@pytest.fixture(scope="module")
def endpoint(installed: str) -> str:
    with psycopg.connect(installed) as conn:
        return str(scalar(conn, "select endpoint_id::text from svc.webhook_deliveries where status = 'failed' limit 1"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", MOST)


def asked(of: ViewedList, question: str, own: Listing[Any] | None = None) -> Listing[Any]:
    start: Listing[Any] = own or (delivery_queries.query() if of == "deliveries" else message_queries.query())
    found = read(question, keys_of(of), now=datetime.now(UTC))
    given = QueryParams([(name, value) for name, values in found.items() for value in values])
    return filtered(start, given, {**declared(DeliveryFilter if of == "deliveries" else MessageFilter), **PAGE})


async def work(conninfo: str, wanted: Listing[Any], *, is_counted: bool) -> tuple[int, int]:
    """The rows of our tables, and the entries of their indexes, that a page or a count reads."""
    async with await AsyncConnection.connect(conninfo) as conn:
        [before] = await (await conn.execute(_WORK)).fetchall()
        if is_counted:
            assert isinstance(wanted, DeliveryQuery)
            await arun(conn, wanted.count(most=MOST // 2, looked_at=MOST))
        else:
            await wanted.limit(50).alist(conn, max_bytes=1_000_000)
        [after] = await (await conn.execute(_WORK)).fetchall()
        await conn.rollback()
    return after[0] - before[0], after[1] - before[1]


def assert_reads_a_part(conninfo: str, wanted: Listing[Any], *, is_counted: bool = False) -> None:
    rows, entries = asyncio.run(work(conninfo, wanted, is_counted=is_counted))
    # each delivery may lead to its message, for the tenant, or be looked up by it
    assert rows <= 2 * MOST + FEW < ROWS
    # and be asked for its message by more than one condition
    assert entries <= 4 * MOST + FEW < ROWS


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("of", "question"),
    [*(("deliveries", each) for each in DELIVERIES.values()), *(("messages", each) for each in MESSAGES.values())],
    ids=[*DELIVERIES, *(f"messages of {each}" for each in MESSAGES)],
)
def test_a_costly_question_reads_a_part_of_the_list(
    installed: str, endpoint: str, of: ViewedList, question: str
) -> None:
    assert_reads_a_part(installed, asked(of, question.format(endpoint=endpoint)))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("question", DELIVERIES.values(), ids=DELIVERIES)
def test_a_count_of_a_costly_question_reads_a_part_of_the_list(installed: str, endpoint: str, question: str) -> None:
    assert_reads_a_part(installed, asked("deliveries", question.format(endpoint=endpoint)), is_counted=True)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("tenant", ["tenant-2", "nobody"])
@pytest.mark.parametrize("question", OWN.values(), ids=OWN)
def test_a_costly_question_of_a_tenant_reads_a_part_of_the_list(
    installed: str, endpoint: str, tenant: str, question: str
) -> None:
    own = delivery_queries.query().to_endpoints_of(tenant)
    for is_counted in (False, True):
        wanted = asked("deliveries", question.format(endpoint=endpoint), own)
        assert_reads_a_part(installed, wanted, is_counted=is_counted)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "narrowed",
    [
        lambda wanted: wanted,
        lambda wanted: wanted.status("delivered"),
        lambda wanted: wanted.event("order.paid"),
        lambda wanted: wanted.since("3650d"),
    ],
    ids=["all", "the usual state", "an event", "a long time"],
)
def test_the_pages_of_a_tenants_session_are_its_list(
    installed: str, narrowed: Callable[[DeliveryQuery], DeliveryQuery]
) -> None:
    wanted = narrowed(delivery_queries.query().to_endpoints_of("tenant-2")).limit(15)
    with psycopg.connect(installed) as conn:
        text = "select d.id::text from svc.webhook_deliveries d{} order by d.id desc"
        expected = [row[0] for row in conn.execute(text.format(wanted.filter.clause).encode(), wanted.filter.params)]
        pages = [wanted.list(conn)]
        while pages[-1].next_cursor is not None:
            pages.append(wanted.after(pages[-1].next_cursor).list(conn))
    assert [each.id for page in pages for each in page] == expected
    assert len(expected) > 80


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("filters", EVENTS.values(), ids=EVENTS)
def test_a_costly_question_reads_a_part_of_the_events_of_the_console(installed: str, filters: dict[str, str]) -> None:
    wanted = filtered(event_log.query(), QueryParams(filters), {**declared(EventFilter), **PAGE})
    assert_reads_a_part(installed, wanted)


@pytest.mark.parametrize(
    ("of", "question", "condition"),
    [
        ("deliveries", "event:order.paid tenant:tenant-2", "event_name = 'order.paid' and tenant = 'tenant-2'"),
        ("deliveries", "status:delivered event:order.paid", "status = 'delivered' and event_name = 'order.paid'"),
        ("deliveries", "status:failed event:order.paid", "status = 'failed' and event_name = 'order.paid'"),
        ("deliveries", "endpoint:{endpoint} status:delivered", "status = 'delivered' and endpoint_id = '{endpoint}'"),
        (
            "deliveries",
            "endpoint:{endpoint} status:failed event:order.paid",
            "status = 'failed' and endpoint_id = '{endpoint}' and event_name = 'order.paid'",
        ),
        ("messages", "event:order.paid tenant:tenant-2", "event_name = 'order.paid' and tenant = 'tenant-2'"),
    ],
)
def test_pages_of_stretches_have_each_row_once_forth_and_back(
    installed: str, endpoint: str, monkeypatch: pytest.MonkeyPatch, of: ViewedList, question: str, condition: str
) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", 20)
    joined = "(select d.*, m.tenant from svc.webhook_deliveries d join svc.webhook_messages m on m.id = d.message_id) r"
    table = joined if of == "deliveries" else "svc.webhook_messages r"
    with psycopg.connect(installed) as conn:
        text = f"select id::text from {table} where {condition.format(endpoint=endpoint)} order by r.id desc"
        expected = [row[0] for row in conn.execute(text.encode())]
        assert expected
        wanted = asked(of, question.format(endpoint=endpoint)).limit(25)
        pages: list[Page[Any]] = [wanted.list(conn)]
        while pages[-1].next_cursor is not None:
            pages.append(wanted.after(pages[-1].next_cursor).list(conn))
        assert [each.id for page in pages for each in page] == expected
        assert len(pages) > 2
        cursor = pages[-2].next_cursor
        [last] = decode(cursor or "", str)
        back: list[str] = []
        while cursor is not None:
            page = wanted.before(cursor).list(conn)
            back = [each.id for each in page] + back
            cursor = page.prev_cursor
        assert back == [each for each in expected if each > str(last)]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "address",
    [
        "/deliveries?q=" + quote("event:nobody tenant:tenant-2"),
        "/messages?q=" + quote("event:nobody tenant:tenant-2"),
        "/activity?email=nobody",
    ],
)
def test_a_page_without_rows_says_that_others_may_follow(installed: str, address: str) -> None:
    with serving_installed(Console(settings(database_url=installed))) as client:
        browser: Browser = signed_in(client, "admin")
        page = browser.get(address)
        assert page.status_code == 200
        assert_strict(page.text)
        if "messages" not in address:  # a tenth of them are of a tenant: fewer than a stretch
            assert "Nothing found up to here" in page.text
            assert "cursor=" in page.text


@pytest.mark.usefixtures("few")
def test_an_empty_page_after_others_or_before_them_does_not_say_that_nothing_matches(installed: str) -> None:
    with psycopg.connect(installed) as conn:
        [(time, number)] = conn.execute("select occurred_at, id::text from svc.console_events order by id limit 1")
        oldest = encode((time.isoformat(), number))
    with serving_installed(Console(settings(database_url=installed))) as client:
        browser: Browser = signed_in(client, "admin")
        after = browser.get(f"/activity?email=person1&cursor={oldest}").text
        before = browser.get(f"/activity?email=nobody&before={oldest}").text
    assert_strict(after)
    assert "Nothing more is found" in after
    assert_strict(before)
    assert "Newer ones may match too" in before
    assert "cursor=" in before
