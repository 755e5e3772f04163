"""Sending from every kind of connection: stored if, and only if, the client's transaction commits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import psycopg
import psycopg2  # type: ignore[import-untyped] # published without types
import pytest
from django.db import connection as django_connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.errors import PayloadError, UnknownEventError
from tests.integration.actor import django_shop
from tests.support.hooks import endpoint, hooks_config
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import new_database

CONFIG = hooks_config("order.created")
CONFIG.webhooks.event("order.paid", schema={"type": "object", "required": ["id"]})


@dataclass
class Client:
    """One kind of connection, with an open transaction."""

    send: Callable[..., UUID]
    send_many: Callable[..., list[UUID]]
    commit: Callable[[], object]
    rollback: Callable[[], object]


def sync_client(conn: Any, dbapi: Callable[[], Any] | None = None) -> Client:
    """A client whose connection, or session, commits; ``dbapi`` gets the connection to send with."""
    get = dbapi or (lambda: conn)
    return Client(
        lambda *args, **options: webhooks.send(get(), *args, **options),
        lambda *args, **options: webhooks.send_many(get(), *args, **options),
        conn.commit,
        conn.rollback,
    )


@contextmanager
def psycopg_client(conninfo: str, **options: Any) -> Iterator[Client]:
    with closing(psycopg.connect(conninfo, **options)) as conn:
        yield sync_client(conn)


@contextmanager
def psycopg_async_client(conninfo: str, **options: Any) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        conn = runner.run(psycopg.AsyncConnection.connect(conninfo, **options))
        yield Client(
            lambda *args, **options: runner.run(webhooks.asend(conn, *args, **options)),
            lambda *args, **options: runner.run(webhooks.asend_many(conn, *args, **options)),
            lambda: runner.run(conn.commit()),
            lambda: runner.run(conn.rollback()),
        )
        runner.run(conn.close())


@contextmanager
def psycopg2_client(conninfo: str) -> Iterator[Client]:
    with closing(psycopg2.connect(conninfo)) as conn:
        yield sync_client(conn)


@contextmanager
def sqlalchemy_connection(conninfo: str, driver: Any) -> Iterator[Client]:
    engine = create_engine(f"postgresql+{driver.__name__}://", creator=partial(driver.connect, conninfo))
    with engine.connect() as conn:
        yield sync_client(conn)
    engine.dispose()


@contextmanager
def sqlalchemy_session(conninfo: str, driver: Any) -> Iterator[Client]:
    engine = create_engine(f"postgresql+{driver.__name__}://", creator=partial(driver.connect, conninfo))
    with Session(engine) as session:
        yield sync_client(session)
    engine.dispose()


@contextmanager
def raw_of_session(conninfo: str) -> Iterator[Client]:
    engine = create_engine("postgresql+psycopg://", creator=partial(psycopg.connect, conninfo))
    with Session(engine) as session:
        yield sync_client(session, lambda: session.connection().connection)
    engine.dispose()


@contextmanager
def async_of_sqlalchemy(conninfo: str, driver: str, held: Callable[[Any], Any]) -> Iterator[Client]:
    """Sends with an async connection or session of SQLAlchemy itself."""
    connect: Any = connect_asyncpg if driver == "asyncpg" else psycopg.AsyncConnection.connect
    with asyncio.Runner() as runner:
        engine = create_async_engine(f"postgresql+{driver}://", async_creator=partial(connect, conninfo))
        conn = held(engine)
        if isinstance(conn, AsyncConnection):
            runner.run(entered(conn))
        yield Client(
            lambda *args, **options: runner.run(webhooks.asend(conn, *args, **options)),
            lambda *args, **options: runner.run(webhooks.asend_many(conn, *args, **options)),
            lambda: runner.run(conn.commit()),
            lambda: runner.run(conn.rollback()),
        )
        runner.run(conn.close())
        runner.run(engine.dispose())


async def entered(conn: AsyncConnection) -> None:
    await conn.start()


@contextmanager
def asyncpg_client(conninfo: str) -> Iterator[Client]:
    with asyncio.Runner() as runner:
        conn = runner.run(connect_asyncpg(conninfo))
        transaction: list[Any] = []

        async def send(function: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
            if not transaction:
                transaction.append(conn.transaction())
                await transaction[0].start()
            return await function(conn, *args, **options)

        yield Client(
            lambda *args, **options: runner.run(send(webhooks.asend, *args, **options)),
            lambda *args, **options: runner.run(send(webhooks.asend_many, *args, **options)),
            lambda: runner.run(transaction.pop().commit()),
            lambda: runner.run(transaction.pop().rollback()),
        )
        runner.run(conn.close())


async def connect_asyncpg(conninfo: str) -> Any:
    parts = conninfo_to_dict(conninfo)
    return await asyncpg.connect(
        **{name: parts.get(name) for name in ("host", "port", "user", "password")}, database=parts["dbname"]
    )


@contextmanager
def sqlalchemy_async_session(conninfo: str) -> Iterator[Client]:
    connect: Callable[[], Awaitable[Any]] = partial(psycopg.AsyncConnection.connect, conninfo)
    engine = create_async_engine("postgresql+psycopg://", async_creator=connect)
    with asyncio.Runner() as runner:
        session = AsyncSession(engine)

        def sender(send: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args, **options: runner.run(
                session.run_sync(lambda sync: send(sync.connection().connection, *args, **options))
            )

        yield Client(
            sender(webhooks.send),
            sender(webhooks.send_many),
            lambda: runner.run(session.commit()),
            lambda: runner.run(session.rollback()),
        )
        runner.run(session.close())
        runner.run(engine.dispose())


@contextmanager
def django_client(conninfo: str) -> Iterator[Client]:
    django_shop.use(conninfo)
    django_shop.skip_unsupported(conninfo)
    django_connection.set_autocommit(False)
    try:
        yield sync_client(django_connection)
    finally:
        django_connection.close()


CLIENTS: dict[str, Callable[[str], Any]] = {
    "psycopg": psycopg_client,
    "psycopg with rows of its own": partial(psycopg_client, row_factory=dict_row),
    "psycopg with cursors of its own": partial(psycopg_client, cursor_factory=psycopg.ClientCursor),
    "psycopg async": psycopg_async_client,
    "psycopg2": psycopg2_client,
    "SQLAlchemy connection on psycopg": partial(sqlalchemy_connection, driver=psycopg),
    "SQLAlchemy connection on psycopg2": partial(sqlalchemy_connection, driver=psycopg2),
    "SQLAlchemy session on psycopg": partial(sqlalchemy_session, driver=psycopg),
    "SQLAlchemy session on psycopg2": partial(sqlalchemy_session, driver=psycopg2),
    "SQLAlchemy async session": sqlalchemy_async_session,
    "a connection of SQLAlchemy's session": raw_of_session,
    "AsyncSession on psycopg": partial(async_of_sqlalchemy, driver="psycopg", held=AsyncSession),
    "AsyncConnection on psycopg": partial(async_of_sqlalchemy, driver="psycopg", held=AsyncEngine.connect),
    "AsyncSession on asyncpg": partial(async_of_sqlalchemy, driver="asyncpg", held=AsyncSession),
    "asyncpg": asyncpg_client,
    "Django": django_client,
}


@pytest.fixture(scope="module")
def shop(postgres: str, template: str) -> Iterator[str]:
    """A database with two events and an endpoint for both."""
    with new_database(postgres, template=template) as conninfo:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")
        yield conninfo


@pytest.fixture(scope="module")
def bouncer(shop: str) -> Iterator[str]:
    with pgbouncer(shop) as conninfo:
        yield conninfo


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, shop: str) -> Iterator[Client]:
    with CLIENTS[request.param](shop) as client:
        yield client


def payload(conninfo: str, message: UUID) -> str | None:
    """The payload of a message whose delivery is pending too; None where there is no message."""
    with psycopg.connect(conninfo) as conn:
        stored: str | None = scalar(conn, "select payload::text from svc.webhook_messages where id = %s", (message,))
        deliveries = scalar(conn, "select count(*) from svc.webhook_deliveries where message_id = %s", (message,))
    assert deliveries == (stored is not None)
    return stored


def test_what_is_committed_is_stored_and_what_is_rolled_back_is_not(client: Client, shop: str) -> None:
    committed = client.send("order.created", {"name": "Zoë %s"})
    assert payload(shop, committed) is None
    client.commit()
    lost = client.send("order.created", {})
    client.rollback()
    assert isinstance(committed, UUID)
    assert (payload(shop, committed), payload(shop, lost)) == ('{"name": "Zoë %s"}', None)


def test_many_are_committed_or_rolled_back_together(client: Client, shop: str) -> None:
    committed = client.send_many("order.created", [{"n": n} for n in range(3)])
    client.commit()
    lost = client.send_many("order.created", [[1], [2]])
    client.rollback()
    assert [payload(shop, message) for message in committed] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']
    assert [payload(shop, message) for message in lost] == [None, None]


def test_a_text_is_stored_byte_for_byte(client: Client, shop: str) -> None:
    exact = '{"n": 12345678901234567.10,  "n": 1}'
    one, [another] = client.send("order.created", exact), client.send_many("order.created", [exact])
    client.commit()
    assert payload(shop, one) == payload(shop, another) == exact


def test_every_option_arrives(client: Client, shop: str) -> None:
    key = str(uuid4())
    options: dict[str, Any] = {"tenant": "acme", "delay": timedelta(hours=1, milliseconds=1)}
    first = client.send("order.created", {}, idempotency_key=key, **options)
    assert client.send("order.created", {}, idempotency_key=key, tenant="acme") == first
    assert client.send("order.created", {}, idempotency_key=key) != first
    many = client.send_many("order.created", [{}, {}], idempotency_keys=[key, str(uuid4())], **options)
    assert many[0] == first
    client.send("order.created", {}, key=key)
    client.send_many("order.created", [{}, {}], keys=[None, key])
    client.commit()
    with psycopg.connect(shop) as conn:
        query = "select count(distinct sequence) from svc.webhook_messages where key = %s"
        assert scalar(conn, query, (key,)) == 2
        query = "select array_agg(next_attempt_at - created_at) from svc.webhook_deliveries where message_id = any (%s)"
        assert scalar(conn, query, (many,)) == [options["delay"]] * 2


def test_errors_are_ours_whatever_the_driver_raised_and_the_connection_goes_on(client: Client, shop: str) -> None:
    with pytest.raises(UnknownEventError, match=r"order\.lost"):
        client.send("order.lost", {})
    client.rollback()
    with pytest.raises(PayloadError, match="too large"):
        client.send_many("order.created", [{"a": "x" * 262144}])
    client.rollback()
    sent = client.send("order.created", {})
    client.commit()
    assert payload(shop, sent) == "{}"


def test_a_schema_is_kept_by_every_client(client: Client, shop: str) -> None:
    sent = client.send("order.paid", {"id": 7})
    with pytest.raises(PayloadError, match=r"order\.paid"):
        client.send("order.paid", {})
    client.rollback()
    with pytest.raises(PayloadError, match=r"order\.paid"):
        client.send_many("order.paid", [{"id": 7}, {}])
    client.rollback()
    many = client.send_many("order.paid", [{"id": 7}, {"id": 8}])
    client.commit()
    assert [payload(shop, message) for message in (sent, *many)] == [None, '{"id": 7}', '{"id": 8}']


@pytest.mark.parametrize("kind", [psycopg_client, psycopg_async_client])
def test_senders_share_a_connection_of_pgbouncer(kind: Callable[..., Any], shop: str, bouncer: str) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(kind(bouncer, prepare_threshold=None)) for _ in range(2)]
        sent = []
        for n in range(4):
            for client in clients:
                sent += [client.send("order.created", {"n": n}), *client.send_many("order.paid", [{"id": n}])]
                client.commit()
        lost = clients[0].send("order.created", {})
        clients[0].rollback()
    expected = [stored for n in range(4) for _ in clients for stored in (f'{{"n": {n}}}', f'{{"id": {n}}}')]
    assert [payload(shop, message) for message in sent] == expected
    assert payload(shop, lost) is None
