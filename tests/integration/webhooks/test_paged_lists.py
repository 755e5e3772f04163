"""Pages of deliveries, messages and console events show each row of a plain statement once, in both directions."""

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from svc_pg import Config
from svc_pg.config import EventDefinition, WebhooksConfig
from svc_pg.console.built_in import webhook_bulk
from svc_pg.console.sessions import event_log
from svc_pg.console.sessions.event_log import EventFilter
from svc_pg.database import stretches
from svc_pg.database.filters import applied
from svc_pg.database.pagination import Listing, Page, Seen
from svc_pg.database.performing import run
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_keysets import NEWEST
from svc_pg.webhooks.deliveries.delivery_query import DeliveryQuery
from svc_pg.webhooks.deliveries.delivery_rows import BulkResult, DeliveryCount
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import MessageQuery
from tests.support.hooks import install
from tests.support.postgres import Prepare

EVENTS: Final = ("order.created", "order.paid")
CONFIG: Final = Config(webhooks=WebhooksConfig(events={name: EventDefinition(search=["number"]) for name in EVENTS}))
TENANTS: Final = (None, "acme", "big")
STATUSES: Final = ("pending", "delivered", "failed", "canceled")
BEGAN: Final = datetime(2026, 3, 1, tzinfo=UTC)
MESSAGES: Final = 40
ENDPOINTS: Final = 7
QUESTIONS: Final = 25
EDGES: Final = {str(UUID(int=0)), str(UUID(int=2**128 - 1))}
"""Those of a message without deliveries."""

Connection = psycopg.Connection[Any]
_ADD_MESSAGE: Final = """
insert into svc.webhook_messages (id, event_name, payload, tenant, xact_id) values (%s, %s, %s, %s, %s)
"""
_ADD_VALUES: Final = """
insert into svc.webhook_search_values (message_id, digest, tenant)
select m.id, d.digest, m.tenant from svc.webhook_messages m
 cross join lateral unnest(svc.webhook_search_digests('{number}', m.payload)) d(digest)
"""
_ADD_DELIVERY: Final = """
insert into svc.webhook_deliveries
    (id, message_id, endpoint_id, event_name, status, max_attempts, next_attempt_at, finished_at, failure)
values (%s, %s, %s, %s, %s, 5, %s, %s, %s)
"""
_ADD_EVENT: Final = "insert into svc.console_events (event, email, occurred_at) values (%s, %s, %s) returning id"
_DELIVERIES: Final = """
select d.id, d.message_id, d.endpoint_id, d.event_name, d.status, d.finished_at, m.tenant, e.tenant, m.xact_id,
       m.payload->>'number'
  from svc.webhook_deliveries d
  join svc.webhook_messages m on m.id = d.message_id join svc.webhook_endpoints e on e.id = d.endpoint_id
"""
_RETRIED: Final = """
select d.id from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
 where d.status in ('failed', 'canceled') and e.status <> 'disabled'
"""
_MESSAGES: Final = "select id, event_name, tenant, xact_id, payload->>'number' from svc.webhook_messages"


def fill(conninfo: str) -> None:
    """Messages and deliveries of all tenants, states and events, whose ids are in no order of each other.

    Clocks were set back, several ids have the same millisecond, and some are no UUIDs of version 7 at all.
    """
    random = Random(7)
    install(conninfo, CONFIG)
    with psycopg.connect(conninfo) as conn:
        endpoints = [_random_id(random) for _ in range(ENDPOINTS)]
        for number, key in enumerate(endpoints):
            conn.execute(
                "insert into svc.webhook_endpoints (id, url, events, secret, tenant, status, disabled_reason)"
                " values (%s, 'http://127.0.0.1:9', '{*}', '', %s, %s, %s)",
                (key, TENANTS[number % 3], *(("disabled", "x") if number == ENDPOINTS - 1 else ("active", None))),
            )
        messages = [_random_id(random) for _ in range(MESSAGES)]
        for message in messages:
            event, tenant = random.choice(EVENTS), random.choice(TENANTS)
            payload = f'{{"number": {random.randrange(2)}}}'
            conn.execute(_ADD_MESSAGE, (message, event, payload, tenant, random.randrange(1, 5)))
            for key in random.sample(endpoints, random.choice([0, 0, 1, 2, 5])):
                _add_delivery(conn, random, message, key, event)
        conn.execute(_ADD_VALUES)


def _random_id(random: Random) -> UUID:
    if random.random() < 0.1:
        return UUID(int=random.getrandbits(128), version=4)
    stamp = int((BEGAN + timedelta(milliseconds=random.randrange(12))).timestamp() * 1000)
    return UUID(int=stamp << 80 | 0x7 << 76 | random.getrandbits(12) << 64 | 0x2 << 62 | random.getrandbits(62))


def _add_delivery(conn: Connection, random: Random, message: UUID, endpoint: UUID, event: str) -> None:
    key, status = _random_id(random), random.choice(STATUSES)
    ended = None if status == "pending" else _random_time(random)
    failure = status if status in ("failed", "canceled") else None
    due = BEGAN if status == "pending" else None
    conn.execute(_ADD_DELIVERY, (key, message, endpoint, event, status, due, ended, failure))
    if status == "pending" and random.random() < 0.5:
        conn.execute(
            "insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id) values (%s, %s, %s)",
            (endpoint, due, key),
        )
    elif status == "pending":
        conn.execute(
            "insert into svc.webhook_leases (endpoint_id, delivery_id, lease_until, leased_at, worker)"
            " values (%s, %s, now(), now(), 'one')",
            (endpoint, key),
        )


def _random_time(random: Random) -> datetime:
    return BEGAN + timedelta(microseconds=random.randrange(12_000))


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return fill


def _least_id(time: datetime) -> UUID:
    """As svc.uuid7_at, computed here."""
    milliseconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62)


def questions_of_deliveries(
    random: Random, rows: Sequence[tuple[Any, ...]]
) -> tuple[DeliveryQuery, list[str], dict[str, Any]]:
    """A query with random filters, and the ids of the deliveries that it must find, in its order."""
    made: dict[str, Any] = {}
    wanted, found = delivery_queries.query(), list(rows)

    def one(position: int) -> Any:
        return random.choice(rows)[position]

    def add(name: str, value: Any, is_met: Any) -> None:
        nonlocal wanted, found
        made[name] = value
        wanted = getattr(wanted, name)(value)
        found = [row for row in found if is_met(row)]

    def some(name: str, share: float = 0.25) -> bool:
        return name in names if names is not None else random.random() < share

    names = None if random.random() < 0.6 else random.sample(_NAMES, random.choice([0, 1, 1, 1, 2]))
    for name in random.sample(_NAMES, len(_NAMES)):
        if not some(name, 0.1 if name in ("ids", "message", "transaction") else 0.25):
            continue
        match name:
            case "endpoint":
                key = one(2)
                add(name, str(key), lambda row, key=key: row[2] == key)
            case "message":
                key = one(1)
                add(name, str(key), lambda row, key=key: row[1] == key)
            case "status":
                status = random.choice(STATUSES)
                add(name, status, lambda row, status=status: row[4] == status)
            case "event":
                event = random.choice(EVENTS)
                add(name, event, lambda row, event=event: row[3] == event)
            case "tenant":
                tenant = random.choice(TENANTS[1:])
                add(name, tenant, lambda row, tenant=tenant: row[6] == tenant)
            case "to_endpoints_of":
                own = random.choice(TENANTS[1:])
                add(name, own, lambda row, own=own: row[6] == own == row[7])
            case "transaction":
                xact_id = one(8)
                add(name, xact_id, lambda row, xact_id=xact_id: row[8] == xact_id)
            case "payload":
                number = random.choice("01")
                add(name, f"number={number}", lambda row, number=number: row[9] == number)
            case "ids":
                ids = {one(0) for _ in range(15)}
                add(name, [str(key) for key in ids], lambda row, ids=ids: row[0] in ids)
            case "since":
                time = _random_time(random)
                add(name, time, lambda row, time=time: row[0] >= _least_id(time))
            case "until":
                time = _random_time(random)
                add(name, time, lambda row, time=time: row[0] < _least_id(time))
            case "finished_since" if wanted.is_narrow:
                time = _random_time(random)
                add(name, time, lambda row, time=time: row[5] is not None and row[5] >= time)
            case "finished_until" if wanted.is_narrow:
                time = _random_time(random)
                add(name, time, lambda row, time=time: row[5] is not None and row[5] < time)
    by_id = wanted.keyset is NEWEST
    found.sort(key=lambda row: row[0] if by_id else row[1::-1], reverse=True)
    return wanted, [str(row[0]) for row in found], made


_NAMES: Final = (
    *("endpoint", "message", "status", "event", "tenant", "to_endpoints_of", "transaction", "payload", "ids"),
    *("since", "until", "finished_since", "finished_until"),
)


def questions_of_messages(
    random: Random, rows: Sequence[tuple[Any, ...]]
) -> tuple[MessageQuery, list[str], dict[str, Any]]:
    """As ``questions_of_deliveries``."""
    event, tenant, number = random.choice(EVENTS), random.choice(TENANTS[1:]), random.choice("01")
    xact_id, ids = random.choice(rows)[3], {random.choice(rows)[0] for _ in range(15)}
    since, until = _random_time(random), _random_time(random)
    conditions: dict[str, tuple[Any, Any]] = {
        "event": (event, lambda row: row[1] == event),
        "tenant": (tenant, lambda row: row[2] == tenant),
        "payload": (f"number={number}", lambda row: row[4] == number),
        "transaction": (xact_id, lambda row: row[3] == xact_id),
        "ids": ([str(key) for key in ids], lambda row: row[0] in ids),
        "since": (since, lambda row: row[0] >= _least_id(since)),
        "until": (until, lambda row: row[0] < _least_id(until)),
    }
    made, wanted, found = {}, message_queries.query(), list(rows)
    for name in random.sample([*conditions], random.choice([0, 1, 1, 2, 2, 3])):
        made[name], is_met = conditions[name]
        wanted = getattr(wanted, name)(made[name])
        found = [row for row in found if is_met(row)]
    return wanted, [str(row[0]) for row in sorted(found, reverse=True)], made


def assert_pages_are(conn: Connection, wanted: Listing[Any], ids: list[str], may_tell: set[str] | None = None) -> None:
    """Forwards all pages together are the list; before the last one and the one in the middle are those before.

    Their cursors tell no ids but those that ``may_tell``, if it is given.
    """
    page, shown, returning = wanted.list(conn), 0, []
    for _ in range(3 * MESSAGES * ENDPOINTS):
        if may_tell is not None:
            assert told_by(page) <= may_tell
        found = [each.id for each in page]
        assert ids[shown : shown + len(found)] == found
        if page.prev_cursor is not None:
            returning.append((page, shown))
        shown += len(found)
        if page.next_cursor is None:
            break
        page = wanted.after(page.next_cursor).list(conn)
    assert shown == len(ids)
    for page, before in {id(each): each for each in (returning[len(returning) // 2 :][:1] + returning[-1:])}.values():
        assert_pages_before_are(conn, wanted, page, ids, before)


def told_by(page: Page[Any]) -> set[str]:
    """The ids in the cursors of a page."""
    cursors = [cursor for cursor in (page.next_cursor, page.prev_cursor) if cursor is not None]
    return {each for cursor in cursors for each in json.loads(urlsafe_b64decode(cursor + "=="))}


def assert_pages_before_are(
    conn: Connection, wanted: Listing[Any], page: Page[Any], ids: list[str], shown: int
) -> None:
    """Backwards from a page are the rows before it, and each of these pages leads forwards again."""
    while page.prev_cursor is not None:
        page = wanted.before(page.prev_cursor).list(conn)
        found = [each.id for each in page]
        assert ids[shown - len(found) : shown] == found
        if page.prev_cursor is not None:
            assert page.next_cursor is not None
            after = wanted.after(page.next_cursor).list(conn)
            assert [each.id for each in after] == ids[shown : shown + len(after.data)]
        shown -= len(found)
    assert shown == 0


@pytest.mark.parametrize("most", [2, 3, 11, 10_000])
@pytest.mark.parametrize("seed", range(3))
def test_pages_of_deliveries_are_the_list(
    conn: Connection, most: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", most)
    rows, messages = conn.execute(_DELIVERIES).fetchall(), conn.execute(_MESSAGES).fetchall()
    random = Random(seed)
    for _ in range(QUESTIONS):
        wanted, ids, made = questions_of_deliveries(random, rows)
        size, own = random.choice([1, 2, 3, 1000]), made.get("to_endpoints_of")
        of_own = {str(row[0]) for row in rows if row[7] == own} | {str(row[0]) for row in messages if row[2] == own}
        try:
            assert_pages_are(conn, wanted.limit(size), ids, None if own is None else of_own | EDGES)
        except AssertionError as error:
            error.add_note(f"{made}, {size} to a page")
            raise


@pytest.mark.parametrize("tenant", TENANTS[1:])
def test_a_page_of_what_waits_for_a_tenant_does_not_end_at_what_waits_for_another(
    conn: Connection, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row for row in conn.execute(_DELIVERIES).fetchall() if row[4] == "pending"]
    monkeypatch.setattr(stretches, "MOST_ROWS", len(rows))
    own = sorted((row[0] for row in rows if row[6] == tenant == row[7]), reverse=True)
    wanted = delivery_queries.query().to_endpoints_of(tenant).status("pending")
    assert_pages_are(conn, wanted, [str(key) for key in own], {str(key) for key in own})


@pytest.mark.parametrize("most", [2, 3, 11, 10_000])
def test_pages_of_messages_are_the_list(conn: Connection, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", most)
    rows = conn.execute(_MESSAGES).fetchall()
    random = Random(most)
    for _ in range(QUESTIONS):
        wanted, ids, made = questions_of_messages(random, rows)
        size, own = random.choice([1, 2, 3, 1000]), made.get("tenant")
        of_own = None if own is None else {str(row[0]) for row in rows if row[2] == own}
        try:
            assert_pages_are(conn, wanted.limit(size), ids, of_own)
        except AssertionError as error:
            error.add_note(f"{made}, {size} to a page")
            raise


@pytest.mark.parametrize("most", [1, 2, 3, 10_000])
def test_pages_of_console_events_are_the_list(conn: Connection, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", most)
    random, rows = Random(most), []
    for _ in range(MESSAGES):
        time = BEGAN + timedelta(microseconds=random.randrange(10))
        event, email = random.choice(["signed_in", "token_added"]), random.choice(["ann", "bob"])
        [key] = conn.execute(_ADD_EVENT, (event, email, time)).fetchall()
        rows.append((time, *key, event, email))
    for _ in range(QUESTIONS):
        since, until = (BEGAN + timedelta(microseconds=random.randrange(10)) for _ in range(2))
        filters = {"event": "signed_in", "email": "bob", "since": since, "until": until}
        chosen = {name: filters[name] for name in random.sample([*filters], random.randrange(4))}
        found = [
            row
            for row in sorted(rows, reverse=True)
            if row[2] == chosen.get("event", row[2])
            and row[3] == chosen.get("email", row[3])
            and chosen.get("since", row[0]) <= row[0]
            and ("until" not in chosen or row[0] < until)
        ]
        wanted = applied(event_log.query(), EventFilter, chosen)
        assert_pages_are(conn, wanted.limit(random.choice([1, 3, 1000])), [str(row[1]) for row in found])


def test_a_page_that_its_bytes_end_before_it_has_a_row_goes_on_behind_what_it_looked_at(conn: Connection) -> None:
    wanted = message_queries.query().limit(1)
    [message] = wanted.list(conn)
    page = wanted.page_of_seen([Seen(message, is_selected=False, is_end=True)], is_cut=True)
    assert page.data == []
    assert told_by(page) == {message.id}


@pytest.mark.parametrize("seed", range(3))
def test_a_bulk_change_and_a_count_are_of_the_list(conn: Connection, seed: int) -> None:
    rows = conn.execute(_DELIVERIES).fetchall()
    queued = {str(key) for (key,) in conn.execute("select delivery_id from svc.webhook_queue")}
    retried = {str(key) for (key,) in conn.execute(_RETRIED)}
    random = Random(seed)
    for _ in range(QUESTIONS):
        wanted, ids, made = questions_of_deliveries(random, rows)
        if not made:
            continue
        assert run(conn, wanted.count()) == DeliveryCount(len(ids), is_complete=True), made
        assert run(conn, wanted.cancel(dry_run=True)) == BulkResult(len(queued & {*ids}), is_complete=True), made
        assert run(conn, wanted.retry(dry_run=True)) == BulkResult(len(retried & {*ids}), is_complete=True), made
        for status in STATUSES:
            of_status = [row for row in rows if str(row[0]) in ids and row[4] == status]
            assert run(conn, wanted.count(status=status)).count == len(of_status), (made, status)


@pytest.mark.parametrize("most", [1, 2, 3, 11, 2_000])
@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_above_a_list_are_those_of_a_plain_statement_or_say_that_they_are_not(
    database: str, most: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MOST", "_MOST_LED", "_MOST_OF_TENANT"):
        monkeypatch.setattr(webhook_bulk, name, most)
    monkeypatch.setattr(webhook_bulk, "_MOST_MILLISECONDS", 30_000)

    async def ask() -> None:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            rows, random = await (await conn.execute(_DELIVERIES)).fetchall(), Random(seed)
            for _ in range(QUESTIONS):
                wanted, ids, made = questions_of_deliveries(random, rows)
                if "status" in made:  # each is counted
                    continue
                for counted in await webhook_bulk.counts(conn, wanted):
                    number = sum(1 for row in rows if str(row[0]) in ids and row[4] == counted.status)
                    assert counted.count is not None
                    told = (made, counted)
                    assert counted.count == number if counted.is_complete else counted.count <= number, told
                    assert counted.is_complete or most < 2_000, told

    asyncio.run(ask())


_FORGET_OTHERS: Final = (
    """
    delete from svc.webhook_deliveries d using svc.webhook_messages m, svc.webhook_endpoints e
     where m.id = d.message_id and e.id = d.endpoint_id
       and m.tenant is distinct from %(own)s and e.tenant is distinct from %(own)s
    """,
    """
    delete from svc.webhook_messages m
     where m.tenant is distinct from %(own)s
       and not exists (select from svc.webhook_deliveries d where d.message_id = m.id)
    """,
)


@pytest.mark.parametrize("most", [2, 3, 7, 11])
@pytest.mark.parametrize("own", TENANTS[1:])
def test_a_tenants_lists_and_numbers_are_the_same_without_what_others_have(
    database: str, own: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_MOST", "_MOST_LED", "_MOST_OF_TENANT"):
        monkeypatch.setattr(webhook_bulk, name, most)
    monkeypatch.setattr(stretches, "MOST_ROWS", most)
    monkeypatch.setattr(webhook_bulk, "_MOST_MILLISECONDS", 30_000)

    async def told(conn: psycopg.AsyncConnection[Any], wanted: DeliveryQuery) -> list[object]:
        found: list[object] = []
        if wanted.of_status is None:
            found += await webhook_bulk.counts(conn, wanted)
        cursor: str | None = ""
        while cursor is not None:
            page = await (wanted.after(cursor) if cursor else wanted).alist(conn)
            found.append(([each.id for each in page], page.next_cursor, page.prev_cursor))
            cursor = page.next_cursor
        return found

    async def ask() -> None:
        async with await psycopg.AsyncConnection.connect(database) as conn:
            rows, random = await (await conn.execute(_DELIVERIES)).fetchall(), Random(most)
            asked = [questions_of_deliveries(random, rows) for _ in range(QUESTIONS)]
            questions = [(wanted.to_endpoints_of(own).limit(3), made) for wanted, _, made in asked]
            before = [await told(conn, wanted) for wanted, _ in questions]
            for statement in _FORGET_OTHERS:
                await conn.execute(statement, {"own": own})
            for (wanted, made), each in zip(questions, before, strict=True):
                assert await told(conn, wanted) == each, made
            await conn.rollback()

    asyncio.run(ask())
