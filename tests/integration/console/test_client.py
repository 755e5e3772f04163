"""The clients in Python against a console: both find what the one in TypeScript does."""

import asyncio
import inspect
import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Self

import pytest

from svc_pg.client import AsyncClient, Client, ClientError
from tests.integration.console.client_server import Served, serving_clients
from tests.support.client_behaviours import EXPECTED, HOOK, behaviours
from tests.support.documents import examples

NAMES: Final = ("operator", "reader", "customer", None)


@pytest.fixture
def served(database: str) -> Iterator[Served]:
    with serving_clients(database) as served:
        yield served


class Waiting:
    """An async client, or a part of it, whose calls wait for their answers."""

    def __init__(self, part: Any, runner: asyncio.Runner) -> None:
        self._part = part
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._part, name)
        if not callable(value):
            return Waiting(value, self._runner)

        def call(*arguments: Any, **options: Any) -> Any:
            answer = value(*arguments, **options)
            if inspect.isawaitable(answer):
                return self._run(answer)
            return Waiting(answer, self._runner)

        return call

    def _run(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        return self._runner.run(wait())

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self._run(anext(self._part))
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._part.close())


def test_a_client_finds_what_the_others_do(served: Served) -> None:
    with ExitStack() as stack:
        clients = [
            stack.enter_context(Client(served.base_url, token=name and served.tokens[name], max_attempts=1))
            for name in NAMES
        ]
        assert behaviours(*clients) == EXPECTED


def test_an_async_client_finds_what_the_others_do(served: Served) -> None:
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        clients = [
            stack.enter_context(
                Waiting(AsyncClient(served.base_url, token=name and served.tokens[name], max_attempts=1), runner)
            )
            for name in NAMES
        ]
        assert behaviours(*clients) == EXPECTED


def test_every_operation_that_reads_and_needs_no_argument_fits_its_model(served: Served) -> None:
    with Client(served.base_url, token=served.tokens["operator"]) as client:
        made = client.endpoints.create(url=HOOK, events=["*"], signatures=["v1", "v1a"])
        ping = client.endpoints.ping(made.id)
        assert client.deliveries.get(ping.id).endpoint_id == made.id
        read: list[Any] = [
            client.health.get(), client.ready.get(), client.capabilities.get(), client.session.get(),
            client.system.get(), client.own_sessions.list(), client.sessions.list(), client.tokens.list(),
            client.console_events.list(), client.entries.list(), client.entries.stats(), client.entries.facets(),
            client.tables.list(), client.holds.list(), client.endpoints.list_health(), client.endpoints.stats(made.id),
            client.endpoints.activity(ids=[made.id]), client.deliveries.counts(), client.deliveries.list(),
            client.deliveries.attempts(ping.id), client.deliveries.request(ping.id), client.messages.list(),
            client.messages.get(ping.message_id), client.event_types.list(), client.traffic.get(by="hour"),
            client.backlog.get(), client.portal_sessions.list(), client.tenants.list(), client.tenants.use(id=["acme"]),
            client.tenants.list_unlisted(), client.openapi.get(),
        ]  # fmt: skip
    assert all(each is not None for each in read)


def test_the_server_reads_objects_as_a_client_writes_them(served: Served) -> None:
    total = {"total": Decimal("12345678901234567.890")}
    with Client(served.base_url, token=served.tokens["operator"]) as client:
        made = client.endpoints.create(url=HOOK, events=["*"], timeout=timedelta(seconds=2.5))
        assert made.timeout == 2.5
        sent = client.events.send(event="order.created", payload=total, delay=timedelta(hours=1))
        assert json.dumps(client.messages.get(sent.id).payload, default=str) == json.dumps(total, default=str)
        [waiting] = client.deliveries.iterate(ids={each.id for each in client.deliveries.list()}, page_size=1)
        assert waiting.message_id == sent.id
        assert client.endpoints.recover(made.id, since=timedelta(hours=1), until=datetime.now(UTC)).count == 0
        assert client.endpoints.stats(made.id, window=timedelta(days=7)).window == 7 * 86400
        assert client.portal_sessions.create(tenant="acme", expires_in=timedelta(hours=2)).expires_in == 7200
        assert client.entries.purge(older_than=timedelta(days=90), dry_run=True) is not None


def test_a_record_whose_key_is_a_path_is_found(served: Served) -> None:
    with Client(served.base_url, token=served.tokens["operator"]) as client:
        client.tenants.create(id="a/../b", name="Odd")
        assert client.tenants.get("a/../b").name == "Odd"
        assert [each.operation for each in client.records.iterate_entries("svc.tenants", "a/../b")] == ["INSERT"]
        client.tenants.delete("a/../b")
        with pytest.raises(ClientError, match="unknown_tenant"):
            client.tenants.get("..")


def test_the_example_of_the_page_runs(served: Served) -> None:
    [example] = examples("api.md", "Use a client")
    program = example.replace("https://shop.example", served.base_url)
    exec(program, {"token": served.tokens["operator"]})
