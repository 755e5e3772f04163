"""The trip of a call through the modules: the modules in their order, and the calls from room to room.

``python -m tests.trips CONNINFO`` runs each trip twice in an empty database, watches the second, and prints them as
JSON. It has a process of its own, so that no modules or caches of other tests shorten a trip.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from ipaddress import ip_network
from types import FrameType
from typing import Final
from unittest.mock import patch

import httpx
import psycopg
from pydantic import SecretStr

import svc_pg
from svc_pg import Config, Settings, audit, schema, webhooks
from svc_pg.config import EventDefinition
from svc_pg.console import Console
from svc_pg.console.pages import alarms, cookies
from svc_pg.console.status import offered_products
from svc_pg.database.query import scalar
from svc_pg.webhooks.http import exchange
from tests.support.hooks import KEYS_TEXT, is_asleep, working
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

_ROOT: Final = svc_pg.__file__.removesuffix("__init__.py")
_PREFIX: Final = "/.well-known/svc"
_OTHERS: Final = """
select count(*) from pg_stat_activity where datname = current_database() and application_name like 'svc-pg worker%'
"""


@dataclass
class Trip:
    """The modules in the order of their first call, and the number of calls between rooms.

    Repeated calls of one function by another count once. A room is a package.
    """

    name: str
    modules: list[str] = field(default_factory=list)
    crossings: int = 0


class Watch:
    """Watches all threads that start after it, while ``during`` runs."""

    def __init__(self) -> None:
        self._order: dict[str, None] = {}
        self._crossings: set[tuple[object, object]] = set()
        self._is_on = False
        self.trips: list[Trip] = []
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    @contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Watch a trip."""
        self._order, self._crossings, self._is_on = {}, set(), True
        try:
            yield
        finally:
            self._is_on = False
            self.trips.append(Trip(name, list(self._order), len(self._crossings)))

    def _see(self, frame: FrameType, event: str, _argument: object) -> None:
        if not self._is_on or event != "call" or (module := _module(frame)) is None:
            return
        self._order.setdefault(module)
        caller = frame.f_back
        while caller is not None and _module(caller) is None:
            caller = caller.f_back
        if caller is not None and _room(_module(caller) or "") != _room(module):
            self._crossings.add((caller.f_code, frame.f_code))


def _module(frame: FrameType) -> str | None:
    name = frame.f_code.co_filename
    if not (name.startswith(_ROOT) and name.endswith(".py")) or "/testing/" in name:
        return None
    return name.removeprefix(_ROOT)


def _room(module: str) -> str:
    return module.rpartition("/")[0]


def trips(conninfo: str) -> list[Trip]:
    """The trips through the library, in an empty database."""
    watch = Watch()
    config = Config()
    config.audit.table("public.customer", redact=["card"])
    config.webhooks.events["order.created"] = EventDefinition()
    config.webhooks.allow_http, config.webhooks.allow_cidrs = True, [ip_network("127.0.0.0/8")]
    with psycopg.connect(conninfo) as conn:
        for table in ("customer", "first", "second"):
            conn.execute(f"create table public.{table} (id integer primary key, name text, card text)".encode())
        conn.commit()
        schema.install(conn, config)

        def install(table: str) -> None:
            config.audit.table(f"public.{table}", redact=["card"])
            schema.install(conn, config)

        def change(_: str) -> None:
            with audit.actor(conn, "ann"):
                conn.execute("insert into customer select count(*), 'Ann', '4111' from customer")
            conn.commit()

        def entries(_: str) -> None:
            assert audit.query().resource("public.customer").since("1h").list(conn).data

        def send(_: str) -> None:
            webhooks.send(conn, "order.created", {"id": 7})
            conn.commit()

        for name, walk in (
            ("Install one more table", install),
            ("Name the actor of a transaction", change),
            ("List entries: `audit.query()`", entries),
            ("Send an event: `webhooks.send`", send),
        ):
            walk("first")
            with watch.during(name):
                walk("second")
        _deliver(watch, conninfo, config)
    asyncio.run(_ask(watch, conninfo, config))
    return watch.trips


def _deliver(watch: Watch, conninfo: str, config: Config) -> None:
    """Run a worker for one delivery, from start to stop, so that its periodic work belongs to the trip."""
    with receiving() as receiver, psycopg.connect(conninfo, autocommit=True) as conn:
        settings = Settings(database_url=SecretStr(conninfo), env="development", encryption_keys=SecretStr(KEYS_TEXT))
        webhooks.endpoints.create(conn, url=receiver.url, events=["*"], settings=settings, config=config)

        def deliver() -> None:
            with working(conninfo, config) as worker:
                wait_until(lambda: is_asleep(conn), "it sleeps")  # or the trip would end before that, or after it
                webhooks.send(conn, "order.created", {"id": 7})
                wait_until(lambda: worker.statistics.deliveries["delivered"], "it is recorded")
            wait_until(lambda: scalar(conn, _OTHERS) == 0, "its sessions have ended, and their locks with them")

        deliver()
        exchange._remembered_headers.cache_clear()  # heads of the same second are equal
        with watch.during("Deliver an event: `svc-pg worker`"):
            deliver()
        assert len(receiver.requests) == 2


async def _ask(watch: Watch, conninfo: str, config: Config) -> None:
    settings = Settings(
        database_url=SecretStr(conninfo),
        env="development",
        encryption_keys=SecretStr(KEYS_TEXT),
        console_auto_approve=True,
        console_connection_token_hash="sha256:" + "ab" * 32,
    )
    console = Console(settings, config=config)
    transport = httpx.ASGITransport(app=console.asgi, client=("127.0.0.1", 1))
    async with (
        console.lifespan(),
        httpx.AsyncClient(transport=transport, base_url=f"http://localhost{_PREFIX}") as http,
    ):
        token = (await http.post("/console/session/init", json={})).json()["sessionToken"]
        program = {"Authorization": f"Bearer {token}"}
        browser = {"Cookie": f"{cookies.SESSION}={token}", "Sec-Fetch-Site": "same-origin"}

        async def get(path: str, headers: dict[str, str]) -> httpx.Response:
            answer = await http.get(path, headers=headers)
            assert answer.status_code == 200, answer.text
            return answer

        entries = "/audit/entries?resource=public.customer&limit=5"
        entry = (await get(entries, program)).json()["data"][0]["id"]
        for name, path, headers in (
            ("Answer `GET /audit/entries`", entries, program),
            ("Show the page of an entry", f"/ui/audit/entries/{entry}", browser),
        ):
            await get(path, headers)
            with (  # or a slow trip asks once more for what is remembered
                patch.object(offered_products, "REMEMBERED_SECONDS", 3600),
                patch.object(alarms, "SECONDS", 3600),
                watch.during(name),
            ):
                await get(path, headers)


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(trip) for trip in trips(sys.argv[1])]))
