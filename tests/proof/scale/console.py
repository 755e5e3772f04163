"""Each route of the console's API, and each page of the console and of the portal."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import cycle
from typing import Any, Final
from unittest.mock import patch

import httpx
import psycopg
from psycopg_pool import AsyncConnectionPool

from svc_pg.console import Console, register_tenants
from svc_pg.console.pages.portal_routes import PORTAL
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.status import drift
from svc_pg.webhooks.deliveries.delivery_query import BULK as BULK_CHANGE
from tests.benchmarks.bounds import MOST
from tests.benchmarks.console_stage import PREFIX, settings, signed_in
from tests.integration.console.serving import serving_with_pool
from tests.proof.scale.addresses import addresses
from tests.proof.scale.measuring import Checked, aflush, busiest
from tests.proof.scale.sizes import CONFIG, Sizes
from tests.proof.scale.stage import Stage
from tests.support.long_log import BULK, HOT, Statistics
from tests.support.waiting import wait_until
from tests.support.walking import Walk

_SESSIONS: Final = 40
_LONGEST: Final = timedelta(minutes=2)
_REFUSED: Final = (401, 403, 429)
_WORST_STATUS: Final = 499
"""The console then says what is wrong with the request; beyond, that it took too long."""
_OF_A_DELIVERY: Final = 9
"""The most pages for each delivery that a page looks at, with its message."""
_BOUNDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        ("/deliveries/change", "/endpoints/:id/end", "/endpoints/:id"), MOST + _OF_A_DELIVERY * BULK_CHANGE
    ),
    "/overview": 2 * MOST,
}
"""Of pages that look at more than a list does: previews of a batch, the attempts of 10,000 deliveries, and two samples
of deliveries, of a time and of the one before.
"""
_ROUTES: Final[Mapping[str, int]] = dict.fromkeys(("/audit/stats", "/audit/tables/{table}/as-of"), 2 * MOST)
"""Of routes that read more than a list does: the newest 50,000 entries and then a sample of all, and 100 records."""
_OF_A_TABLE: Final = 400
"""The most pages for each audited table of a comparison with the configuration, which looks at every column of it, and
at each of its triggers, functions and views. It is made once a minute, beside the pages that tell its result.
"""
_TELLS_OF_ALL: Final = ("/overview", "/coverage", "/search")
"""Pages that tell of all tables, or count them, by what the catalog has of their triggers: it is read up to twice."""
_IN_THE_CATALOG: Final = 5
"""The most pages of the catalog for each audited table for these, also on a connection that knows no relation yet."""
_OWN: Final = {"Sec-Fetch-Site": "same-origin"}
_TENANTS: Final = ("tenant-1", "tenant-9")
"""That of the busy endpoint, and another one."""
_KNOWN: Final = """
select 'entry', (select id::text from svc.audit_logs order by "timestamp" desc, id desc limit 1) union all
select 'entry', (select id::text from svc.audit_logs where xact_id = %(bulk)s order by id limit 1) union all
select 'busy', (select id::text from svc.webhook_endpoints where description = 'Partner 1') union all
select 'idle', (select id::text from svc.webhook_endpoints where description = 'Partner 2') union all
select 'delivery', (select id::text from svc.webhook_deliveries where failure = 'failed' order by id desc limit 1)
union all
select 'delivery', (select q.delivery_id::text from svc.webhook_queue q where q.lane = 'due' limit 1) union all
select 'message', (select id::text from svc.webhook_messages order by id limit 1)
"""


@dataclass(slots=True)
class Client:
    """Requests to a console whose connections tell of the pages that they touch."""

    http: httpx.Client
    pool: AsyncConnectionPool[Any]
    stage: Stage

    def checked(self, name: str, address: str, headers: Mapping[str, str], bound: float, state: str) -> Checked:
        """The pages of a call, which is not answered from a cache, or only from one that others have filled."""
        pages, milliseconds, status = self._call(address, headers)
        if status in _REFUSED:
            raise RuntimeError(f"{status} for {address}")
        if status > _WORST_STATUS:
            return Checked(name, "status", status, _WORST_STATUS, milliseconds, f"{address}, {state}")
        detail = f"{address}, {state}"
        if pages > bound:
            with busiest(self.stage.conninfo) as relations:
                again, *_ = self._call(address, headers)
            detail += f"; again {again:,}: {', '.join(relations)}"
        return Checked(name, "pages", pages, bound, milliseconds, detail)

    def _call(self, address: str, headers: Mapping[str, str]) -> tuple[int, float, int]:
        before = self.stage.counter.touched()
        began = time.perf_counter()
        answer = self.http.get(address, headers=headers)  # without redirects, which would lose a cookie
        milliseconds = (time.perf_counter() - began) * 1000
        wait_until(self._is_idle, "the console has given its connections back", limit=_LONGEST)
        return self.stage.counter.touched() - before, milliseconds, answer.status_code

    def _is_idle(self) -> bool:
        found = self.pool.get_stats()
        return found.get("pool_available") == found.get("pool_size") and not found.get("requests_waiting")

    def compared(self, headers: Mapping[str, str], state: str) -> Checked:
        """The comparison with the configuration, whose result is then remembered."""
        before = self.stage.counter.touched()
        began = time.perf_counter()

        def has_ended() -> bool:
            told = self.http.get("/account/system", headers=headers).json()["drift"]["problem"]
            return told is None or "too long" not in told

        wait_until(has_ended, "the comparison has ended", limit=_LONGEST)
        milliseconds = (time.perf_counter() - began) * 1000
        wait_until(self._is_idle, "the console has given its connections back", limit=_LONGEST)
        pages = self.stage.counter.touched() - before
        bound = MOST + _OF_A_TABLE * self.stage.sizes.tables
        return Checked("comparison with the configuration", "pages", pages, bound, milliseconds, state)


@contextmanager
def served(stage: Stage) -> Iterator[Client]:
    """Enter to get a client of a console that runs in a thread."""
    pool = AsyncConnectionPool(stage.conninfo, open=False, min_size=1, max_size=2, reset=aflush)
    made = Console(settings(stage.conninfo), config=CONFIG, pool=pool)
    register_tenants(made)
    with patch.object(drift, "REMEMBERED_SECONDS", float("inf")), serving_with_pool(made, pool) as http:
        http.timeout = httpx.Timeout(_LONGEST.total_seconds())
        yield Client(http, pool, stage)


@contextmanager
def sessions(stage: Stage) -> Iterator[Sequence[str]]:
    """The tokens of administrators, for the time of the block."""
    with psycopg.connect(stage.conninfo, autocommit=True) as conn:
        tokens = signed_in(conn, clients=_SESSIONS, permission="admin")
        try:
            yield tokens
        finally:
            conn.execute("delete from svc.console_sessions")


def api_routes(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """Each route, plain and with each filter."""
    with sessions(stage) as tokens, served(stage) as client:
        turns = cycle(tokens)
        document = client.http.get("/console/openapi.json").json()
        yield client.compared({"Authorization": f"Bearer {next(turns)}"}, state)
        for name, address in addresses(document, _known(stage)):
            headers = {"Authorization": f"Bearer {next(turns)}"}
            yield client.checked(name, address, headers, _of_route(name), state)


def _of_route(name: str) -> int:
    return _ROUTES.get(name.partition(",")[0], MOST)


def _known(stage: Stage) -> dict[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    with psycopg.connect(stage.conninfo, autocommit=True) as conn:
        for name, value in conn.execute(_KNOWN, {"bulk": BULK}).fetchall():
            found.setdefault(name, []).append(value)
    endpoints = [*found["busy"], *found["idle"]]
    record = f"public.t {HOT}"
    return {
        "/audit/entries/{id}": found["entry"],
        "/audit/records/{table}/{id}": [record, "public.account 1"],
        "/audit/tables/{table}": ["public.t"],
        "/audit/transactions/{id}": [str(BULK)],
        "/webhooks/endpoints/{id}": endpoints,
        "/webhooks/deliveries/{id}": found["delivery"],
        "/webhooks/messages/{id}": found["message"],
        "/tenant/tenants/{id}": ["tenant-1"],
        "endpointId": endpoints,
        "messageId": found["message"],
        "ids": endpoints,
        "id": ["tenant-1"],
    }


def console_pages(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """Each page that links lead to."""
    with sessions(stage) as tokens, served(stage) as client:
        turns = cycle(tokens)
        yield client.compared({"Authorization": f"Bearer {next(turns)}"}, state)
        walker = Walker(ROUTES, f"{PREFIX}/ui", lambda: f"svc_console={next(turns)}")
        yield from _walked(client, walker, state)


def portal_pages(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """Each page of the portal, of a tenant with a third of all deliveries and of one among thousands."""
    with sessions(stage) as tokens, served(stage) as client:
        for tenant in _TENANTS:
            headers = {"Authorization": f"Bearer {tokens[0]}"}
            link = client.http.post("/webhooks/portal-sessions", json={"tenant": tenant}, headers=headers).json()
            form = {"token": str(link["path"]).partition("token=")[2]}
            entered = client.http.post("/ui/portal/enter", data=form, headers=_OWN)
            cookie = entered.headers["set-cookie"].partition(";")[0]
            client.http.cookies.clear()
            walker = Walker(PORTAL, f"{PREFIX}/ui/portal", partial(str, cookie))
            for checked in _walked(client, walker, state):
                yield replace(checked, name=f"{checked.name} of {tenant}")


@dataclass(frozen=True, slots=True)
class Walker:
    """The routes of a site below ``base_path``, and the cookie of a session of it."""

    routes: Sequence[Any]
    base_path: str
    cookie: Callable[[], str]

    def headers(self) -> dict[str, str]:
        return {"Cookie": self.cookie(), **_OWN}


def _walked(client: Client, walker: Walker, state: str) -> Iterator[Checked]:
    """Each page by the pattern of its path; the pages that links lead to are found first."""
    base_path = walker.base_path
    origin = str(client.http.base_url.join("/")).rstrip("/")

    broken: list[Checked] = []

    def followed(address: str) -> httpx.Response:
        while (answer := client.http.get(address, headers=walker.headers())).is_redirect:
            address = str(answer.next_request.url if answer.next_request else "")
        if answer.status_code != httpx.codes.OK:
            path = walk.pattern("GET", address) or address
            broken.append(Checked(path, "status", answer.status_code, _WORST_STATUS, 0, f"{address}, {state}"))
        return answer

    walk = Walk(f"{origin}{base_path}", walker.routes, base_path, term="orders", each=1)
    walk.start = str(followed(walk.start).url)
    for address, path in list(walk.pages(lambda each: followed(each).text)):
        checked = client.checked(path, address, walker.headers(), _bound(path, client.stage.sizes), state)
        yield replace(checked, detail=checked.detail.removeprefix(origin + base_path))
    yield from broken


def _bound(path: str, sizes: Sizes) -> int:
    of_tables = _IN_THE_CATALOG * sizes.tables if path in _TELLS_OF_ALL else 0
    return _BOUNDS.get(path, MOST) + of_tables
