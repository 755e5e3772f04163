"""Run all three parts on an embedded database, and show the results."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from textwrap import shorten
from typing import Any, Final

import aiohttp
import psycopg

from svc_pg import audit, schema
from svc_pg.errors import SvcError
from svc_pg.query import fetch_one
from svc_pg.webhooks import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing, new_key
from svc_pg.webhooks.worker.worker import Worker

from .. import output, tables
from .servers import embedded_postgres, serving
from .shop import CONFIG, SCHEMA, Partner, shop

# The requests of people in the shop: the user, the request and its parameters, and the status of the answer
_DAY: Final[list[tuple[str, str, str, dict[str, str], int]]] = [
    ("alice", "POST", "/customers", {"customer_id": "1", "name": "Alice", "email": "alice@example.com"}, 201),
    ("alice", "POST", "/orders", {"order_id": "7", "customer_id": "1", "total": "49.90"}, 201),
    ("bob", "POST", "/customers", {"customer_id": "2", "name": "Bob", "email": "bob@exmaple.com"}, 201),
    ("support", "PATCH", "/customers/2", {"email": "bob@example.com"}, 204),
    ("bob", "POST", "/orders", {"order_id": "8", "customer_id": "2", "total": "120.00"}, 201),
    ("bob", "POST", "/orders", {"order_id": "9", "customer_id": "2", "total": "99000.00"}, 402),
]
# The entries that must then be on record, newest first, without the order that was refused
_RECORD: Final = [
    ("bob", "INSERT", "public.orders"),
    ("support", "UPDATE", "public.customer"),
    ("bob", "INSERT", "public.customer"),
    ("alice", "INSERT", "public.orders"),
    ("alice", "INSERT", "public.customer"),
    ("operator", "INSERT", "svc.webhook_endpoints"),
]
_ORDERS: Final = {7, 8}
_PATIENCE: Final = 15.0  # seconds


@dataclass
class _Findings:
    """The findings of the demo; ``entries`` and ``deliveries`` are as the console's API shows them."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    deliveries: list[dict[str, Any]] = field(default_factory=list)
    received: list[dict[str, Any]] = field(default_factory=list)
    console_url: str = ""
    console_token: str = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.steps.append({"name": name, "seconds": round(time.perf_counter() - started, 3)})

    @property
    def is_good(self) -> bool:
        record = [(entry["actorId"], entry["operation"], entry["tableName"]) for entry in self.entries]
        return record == _RECORD and self.is_delivered

    @property
    def is_delivered(self) -> bool:
        return (
            len(self.deliveries) == len(_ORDERS)
            and all(delivery["status"] == "delivered" for delivery in self.deliveries)
            and {event["data"]["id"] for event in self.received} == _ORDERS
        )


async def run_demo(*, stay: bool, as_json: bool) -> bool:
    """Run the demo; return whether all was recorded and delivered. Leaves no process or folder, also if cancelled."""
    _cancel_on_sigterm()
    findings = _Findings()
    async with AsyncExitStack() as stack:
        with findings.step("start the embedded PostgreSQL"):
            conninfo = stack.enter_context(embedded_postgres())
        with findings.step("create the shop and install svc-pg"), psycopg.connect(conninfo) as conn:
            conn.execute(SCHEMA)
            conn.commit()
            schema.install(conn, CONFIG)
        partner = Partner()
        with findings.step("start the shop with its console, and a partner"):
            shop_url = stack.enter_context(serving(shop(conninfo)))
            partner_url = stack.enter_context(serving(partner.app))
        keys = KeyRing.parse(new_key("demo"))
        with (
            findings.step("register the partner's endpoint"),
            psycopg.connect(conninfo) as conn,
            audit.actor(conn, "operator"),
        ):
            registration = endpoints.create(
                url=f"{partner_url}/webhooks", events=["order.*"], keys=keys, guard=Guard.of(CONFIG.webhooks)
            )
            partner.secret = fetch_one(conn, registration).secret
        with findings.step("start the worker"):
            await stack.enter_async_context(_working(Worker(conninfo, keys=keys, config=CONFIG)))
        http = await stack.enter_async_context(aiohttp.ClientSession(shop_url))
        with findings.step(f"{len(_DAY)} requests by three people"):
            await _have_a_day(http)
        with findings.step("deliver the webhooks, the first on its second attempt"):
            await _sign_in(http, findings, shop_url)
            await _wait_for_deliveries(http, findings, partner)
        with findings.step("read the audit log"):
            findings.entries = await _read(http, findings, "audit/entries")
        _show(findings, as_json=as_json)
        if stay:
            output.words("Ctrl-C ends the demo.")
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
    return findings.is_good


def _cancel_on_sigterm() -> None:
    task = asyncio.current_task()
    if task is not None:
        with suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@asynccontextmanager
async def _working(worker: Worker) -> AsyncIterator[None]:
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def _have_a_day(http: aiohttp.ClientSession) -> None:
    for user, method, path, parameters, expected in _DAY:
        async with http.request(method, path, params=parameters, headers={"x-user": user}) as response:
            if response.status != expected:
                raise SvcError(f"the shop answered {response.status} to {method} {path}, not {expected}")


async def _sign_in(http: aiohttp.ClientSession, findings: _Findings, shop_url: str) -> None:
    findings.console_url = f"{shop_url}/.well-known/svc"
    async with http.post(f"{findings.console_url}/console/session/init", json={"email": "you@localhost"}) as response:
        findings.console_token = (await response.json())["sessionToken"]


async def _wait_for_deliveries(http: aiohttp.ClientSession, findings: _Findings, partner: Partner) -> None:
    ends_at = time.monotonic() + _PATIENCE
    while not findings.is_delivered and time.monotonic() < ends_at:
        await asyncio.sleep(0.02)
        findings.deliveries = await _read(http, findings, "webhooks/deliveries")
        findings.received = partner.received


async def _read(http: aiohttp.ClientSession, findings: _Findings, path: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {findings.console_token}"}
    async with http.get(f"{findings.console_url}/{path}", headers=headers) as response:
        response.raise_for_status()
        answer = await response.json(loads=partial(json.loads, parse_float=Decimal))
        data: list[dict[str, Any]] = answer["data"]
        return data


def _show(findings: _Findings, *, as_json: bool) -> None:
    if as_json:
        output.json_data(
            {
                "auditEntries": findings.entries,
                "deliveries": findings.deliveries,
                "consoleUrl": findings.console_url,
                "consoleToken": findings.console_token,
                "steps": findings.steps,
            }
        )
        return
    changes = [
        [entry["actorId"], entry["operation"], entry["tableName"], _change(entry)]
        for entry in reversed(findings.entries)
    ]
    deliveries = [
        [sent["eventName"], sent["status"], f"{sent['attempts']} of {sent['maxAttempts']}", str(sent["lastStatusCode"])]
        for sent in reversed(findings.deliveries)
    ]
    steps = [[step["name"], f"{step['seconds'] * 1000:.0f}"] for step in findings.steps]
    tables.show("Who changed what", ["actor", "operation", "table", "change"], changes, folding={"change"})
    tables.show("What was delivered", ["event", "status", "attempts", "last status"], deliveries)
    tables.show("How long it took", ["step", "ms"], steps)
    output.data(f"Console  {findings.console_url}\nToken    {findings.console_token}")
    output.data(f'Try      curl -H "Authorization: Bearer $TOKEN" {findings.console_url}/audit/entries')


def _change(entry: dict[str, Any]) -> str:
    """The new row; of an update, the key and the changed fields, old and new."""
    before, after = entry["beforeData"], entry["afterData"]
    if before is None:
        row = ", ".join(f"{name}: {_short(str(value))}" for name, value in after.items())
        return shorten(row, width=64, placeholder=" …")
    fields = (f"{name}: {before[name]} → {after[name]}" for name in entry["changedFields"])
    return ", ".join([f"id: {entry['recordId']}", *fields])


def _short(text: str, size: int = 24) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
