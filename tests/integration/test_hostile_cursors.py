"""No cursor of any list raises anything but its error: neither a made up one, nor one with another part."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, LiteralString

import psycopg
import pytest
from hypothesis import event, given, target
from hypothesis import strategies as st

from svc_pg import Config, audit, webhooks
from svc_pg.audit.read import tables
from svc_pg.console.built_in.webhook_deliveries import _attempts_of
from svc_pg.console.sessions import event_log
from svc_pg.console.sign_in import api_tokens, sessions
from svc_pg.console.sign_in.tenant_table import SVC_TENANTS, Tenants
from svc_pg.console.views import named_views
from svc_pg.database.pagination import Page, encode
from svc_pg.database.query import fetch, scalar
from svc_pg.errors import QueryError
from svc_pg.seals.database.stored_seals import all_seals
from svc_pg.webhooks.deliveries import delivery_queries, replay_queries
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.messages import message_queries
from tests.support.hooks import KEYS, hooks_config
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

MOST_MILLISECONDS: Final = 60_000  # of a statement, which has a few rows to read
ID: Final = "01980a4e-0000-7000-8000-000000000001"
_ENDPOINT: Final = "select min(id::text) from svc.webhook_endpoints"
_DELIVERY: Final = "select min(id::text) from svc.webhook_deliveries"
CONFIG: Final = Config(audit=audited("customer").audit, webhooks=hooks_config("order.created").webhooks)
PARTS: Final = [
    *("", "0", "-1", "1", "1_0", "+5", " 7 ", "٣", "9" * 19, "9223372036854775807", "9223372036854775808"),
    *("9" * 4000, "9" * 5000, "1e5", "0x1", "nan", "infinity", "-infinity", "now", "epoch", "null", "true", "5", "10"),
    *("2026-11-28T08:30:00+00:00", "2026-11-28", "20261128T083000Z", "2026-W48-6T00:00:00+00:00", "24:00"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999999-12:00", "2026-11-28T08:30:00+23:59:59.999999"),
    *(ID, "{" + ID + "}", "urn:uuid:" + ID, "f" * 32, "0" * 32, ID.upper()),
    *("public.customer", 'public."', "customer", "a.b.c", "x" * 10_001, "\0", "\ud800", "\u202e", "'", "%s", "\\"),
    *(
        "[]",
        "{}",
        "[[]]",
        '{"": ["name"]}',
        '{"2026-11-28T08:30:00+00:00": [1, null]}',
        '{"x": []}',
        "[" * 9000,
        "{",
        '"',
    ),
    *("1.5", "aa.5", "aa.-1", "aa." + "9" * 19, "aa." + "9" * 4000, "."),
]
parts = st.sampled_from(PARTS) | st.text(max_size=12)
forged = st.lists(parts, max_size=13).map(lambda key: encode(tuple(key)))
others = st.recursive(parts | st.integers() | st.none() | st.booleans(), lambda inner: st.lists(inner, max_size=3)).map(
    lambda key: base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
)
cursors = forged | others | st.text(max_size=30) | st.sampled_from(["W10" * 9999, "W10=====", "W1\n0", "now", "start"])

Query = Callable[[psycopg.Connection[Any]], Any]
Read = Callable[[psycopg.Connection[Any], str | None, str], Page[Any]]


def one(conn: psycopg.Connection[Any], ids: LiteralString) -> str:
    """An id that is there."""
    return str(scalar(conn, ids))


def of(query: Query) -> Read:
    """The reading of a list after a cursor, or before it."""

    def read(conn: psycopg.Connection[Any], cursor: str | None, way: str) -> Page[Any]:
        wanted = query(conn).limit(1)
        if cursor is not None:
            wanted = wanted.after(cursor) if way == "after" else wanted.before(cursor)
        page: Page[Any] = wanted.list(conn)
        return page

    return read


def replayed(by: str) -> Read:
    """The replay of deliveries from a cursor, as a trial."""

    def read(conn: psycopg.Connection[Any], cursor: str | None, _: str) -> Page[Any]:
        since = None if cursor else "1h"
        wanted = replay_queries.replay(one(conn, _ENDPOINT), since=since, by=by, dry_run=True, after=cursor)
        return Page([], fetch(conn, wanted)[0].next_cursor)

    return read


QUERIES: Final[Mapping[str, Query]] = {
    "entries": lambda _: audit.query(),
    "history": lambda _: audit.history("customer", 1),
    "rows as of a time": lambda _: audit.as_of("customer", "PT0.001S"),
    "reads": lambda _: audit.reads("customer"),
    "holds": lambda _: audit.holds(),
    "coverage": lambda _: audit.coverage(CONFIG.audit),
    "tables": lambda _: tables.query(CONFIG.audit),
    "seals": lambda _: all_seals(),
    "deliveries": lambda _: delivery_queries.query(),
    "finished deliveries": lambda conn: delivery_queries.query().endpoint(one(conn, _ENDPOINT)).finished_since("1h"),
    "attempts": lambda conn: _attempts_of(one(conn, _DELIVERY)),
    "messages": lambda _: message_queries.query(),
    "endpoints": lambda _: endpoint_queries.query(),
    "health": lambda _: endpoint_health.query(),
    "events of the console": lambda _: event_log.query(),
    "views": lambda _: named_views.query(),
    "sessions": lambda _: sessions.query(),
    "tokens": lambda _: api_tokens.query(),
    "tenants": lambda _: Tenants(SVC_TENANTS).query(),
}
READERS: Final[Mapping[str, Read]] = {
    **{name: of(query) for name, query in QUERIES.items()},
    "blame": lambda conn, cursor, _: audit.blame(conn, "customer", 1, after=cursor),
    "replay by send": replayed("sent"),
    "replay by end": replayed("finished"),
}


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    ddl = "create table customer (id int primary key, name text)"

    def made(conninfo: str) -> None:
        create_and_audit(conninfo, ddl, CONFIG)
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("insert into customer select n, 'a' from generate_series(1, 3) n")
            conn.execute("update customer set name = 'b'")
            for url in ("https://a.example/", "https://b.example/"):
                fetch(conn, endpoint_queries.create(keys=KEYS, guard=Guard(), url=url, events=["*"]))
            for number in range(3):
                webhooks.send(conn, "order.created", {"id": number})

    return made


@pytest.fixture(scope="module")
def db(shared_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared_database, autocommit=True) as conn:
        conn.execute(f"set statement_timeout = {MOST_MILLISECONDS}")
        yield conn


def changed(cursor: str, data: st.DataObject) -> str:
    """The cursor of a page with another part, or with one less or more."""
    key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    at = data.draw(st.integers(0, len(key) - 1))
    match data.draw(st.sampled_from(["another", "less", "more", "twice"])):
        case "another":
            key[at] = data.draw(parts)
        case "less":
            del key[at]
        case "more":
            key.insert(at, data.draw(parts))
        case _:
            key[at] = data.draw(st.sampled_from(key))
    return encode(tuple(key))


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_any_cursor_is_a_page_or_a_query_error(db: psycopg.Connection[Any], name: str, data: st.DataObject) -> None:
    real = READERS[name](db, None, "after").next_cursor
    cursor = data.draw(cursors) if real is None or data.draw(st.booleans()) else changed(real, data)
    try:
        page = READERS[name](db, cursor, data.draw(st.sampled_from(["after", "before"])))
    except QueryError as error:
        event("refused")
        target(float(len(error.message)), label="characters of the error")
    else:
        event("read")
        assert len(page.data) <= 1000
    assert db.execute("select 1").fetchone() == (1,)
