"""Send events inside the caller's transaction: the messages and the change commit together or not at all."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString, TypeVar
from uuid import UUID

from svc_pg.database.connections import async_connection, dbapi_connection, is_asyncpg, numbered
from svc_pg.database.dbapi import values_of
from svc_pg.database.sqlstates import sqlstate, translating
from svc_pg.database.storable_texts import MAX_TENANT_BYTES, refuse_unstorable
from svc_pg.errors import PayloadError, QueryError
from svc_pg.webhooks.events.payloads import Payload, SchemaCheck, json_text
from svc_pg.webhooks.tracing import current_traceparent

Answer = TypeVar("Answer")
Item = TypeVar("Item")
Statement = tuple[LiteralString, tuple[object, ...]]

# One round trip: if the event has a schema, nothing is sent unless the payload is known to fit that very schema
_SEND: Final = """
select case when e.schema is null or e.sha256 = %s
            then svc.send(%s, %s, %s, %s, %s::interval, %s, %s)::text end as id,
       case when e.sha256 <> %s then e.schema::text end as schema
"""
_SEND_MANY: Final = """
select case when e.schema is null or e.sha256 = %s
            then svc.send_many(%s, %s::text[]::json[], %s, %s, %s::interval, %s, %s)::text[] end as ids,
       case when e.sha256 <> %s then e.schema::text end as schema
"""
_EVENT: Final = """
  from (select s.schema, encode(pg_catalog.sha256(pg_catalog.convert_to(s.schema::text, 'UTF8')), 'hex') as sha256
          from svc.webhook_event_schema(%s) s(schema)) e
"""
_AT_ONCE: Final = timedelta(0)
_INVALID_TEXT: Final = "22P02"
_TOO_COMPLEX: Final = "54001"

_checks: dict[str, SchemaCheck] = {}  # by event, for the schema that it had when it was last sent


def send(
    conn: Any,
    event: str,
    payload: Payload,
    *,
    idempotency_key: str | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
    key: str | None = None,
) -> UUID:
    """Send ``event`` to its subscribers once the caller's transaction commits; return the message's id.

    ``conn`` is a connection or cursor of psycopg or psycopg2, a connection or session of SQLAlchemy, or Django's.

    ``payload`` is anything that JSON can hold, with times, UUIDs, Decimals, enums, dataclasses and models of pydantic,
    or, as ``str``, a JSON text that is stored byte for byte. Another send with the same ``idempotency_key`` and tenant
    stores nothing and returns the first message's id. Never commits.

    ``key``, for example ``"order-7"``, puts the messages of a tenant and key into an order: each carries a
    ``sequence`` that rises in the order of commits. Until your transaction ends, other senders of the key wait.

    Raises QueryError, before anything is sent, if another argument is not acceptable. Raises UnknownEventError,
    PayloadError, also if the payload does not fit the event's JSON Schema, and NotInstalledError: as after any error of
    the database, the transaction is then aborted.
    """
    return UUID(_run(_sync(conn, "send"), _sent_one(event, payload, idempotency_key, tenant, delay, key)))


async def asend(
    conn: Any,
    event: str,
    payload: Payload,
    *,
    idempotency_key: str | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
    key: str | None = None,
) -> UUID:
    """As ``send``, for an async connection of psycopg or asyncpg, or an async connection or session of SQLAlchemy."""
    return UUID(await _arun(await _async(conn, "send"), _sent_one(event, payload, idempotency_key, tenant, delay, key)))


def send_many(
    conn: Any,
    event: str,
    payloads: Sequence[Payload],
    *,
    idempotency_keys: Sequence[str | None] | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
    keys: Sequence[str | None] | None = None,
) -> list[UUID]:
    """As ``send`` for many payloads of one event, in one statement; return the messages' ids in their order.

    ``idempotency_keys`` and ``keys`` have one for each payload, or None.
    """
    conn = _sync(conn, "send_many")
    ids = _run(conn, _sent_many(event, payloads, idempotency_keys, tenant, delay, keys)) if payloads else []
    return [UUID(text) for text in ids]


async def asend_many(
    conn: Any,
    event: str,
    payloads: Sequence[Payload],
    *,
    idempotency_keys: Sequence[str | None] | None = None,
    tenant: str | None = None,
    delay: timedelta = _AT_ONCE,
    keys: Sequence[str | None] | None = None,
) -> list[UUID]:
    """As ``send_many``, for the connections of ``asend``."""
    conn = await _async(conn, "send_many")
    ids = await _arun(conn, _sent_many(event, payloads, idempotency_keys, tenant, delay, keys)) if payloads else []
    return [UUID(text) for text in ids]


def _sent_one(
    event: str,
    payload: Payload,
    idempotency_key: str | None,
    tenant: str | None,
    delay: timedelta,
    key: str | None,
) -> Generator[Statement, Sequence[Any], Any]:
    refuse_unstorable(event=event, idempotency_key=idempotency_key, key=key)
    _check_tenant(tenant)
    _check_delay(delay)
    text = json_text(payload)
    return _sent(_SEND, event, [text], (event, text, idempotency_key, tenant, delay, current_traceparent(), key))


def _sent_many(
    event: str,
    payloads: Sequence[Payload],
    idempotency_keys: Sequence[str | None] | None,
    tenant: str | None,
    delay: timedelta,
    keys: Sequence[str | None] | None,
) -> Generator[Statement, Sequence[Any], Any]:
    refuse_unstorable(event=event)
    _check_tenant(tenant)
    _check_delay(delay)
    texts = [json_text(payload) for payload in _listed("payloads", payloads)]
    listed_idempotency_keys = None if idempotency_keys is None else _listed("idempotency_keys", idempotency_keys)
    listed_keys = None if keys is None else _listed("keys", keys)
    for idempotency_key in listed_idempotency_keys or ():
        refuse_unstorable(idempotency_key=idempotency_key)
    for key in listed_keys or ():
        refuse_unstorable(key=key)
    tenants = None if tenant is None else [tenant] * len(texts)
    values = (listed_idempotency_keys, tenants, delay, current_traceparent(), listed_keys)
    return _sent(_SEND_MANY, event, texts, (event, texts, *values))


def _check_tenant(tenant: str | None) -> None:
    refuse_unstorable(tenant=tenant)
    if tenant is not None and len(tenant.encode()) > MAX_TENANT_BYTES:
        raise QueryError(f"a tenant has at most {MAX_TENANT_BYTES} bytes", hint="Send its id, not what it is called.")


def _check_delay(delay: object) -> None:
    match delay:
        case timedelta():
            return
        case datetime():
            hint = "Write delay=at - datetime.now(UTC)."
        case int() | float():
            hint = f"Write delay=timedelta(seconds={delay})."
        case _:
            hint = "Write delay=timedelta(minutes=10)."
    raise QueryError(f"delay is {delay!r}, not a timedelta", hint=hint)


def _listed(name: str, values: Iterable[Item]) -> list[Item]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        hint = "Give a list of payloads." if name == "payloads" else f"Write {name}=[...], with one for each payload."
        raise QueryError(f"{name} is of type {type(values).__name__}, not a list", hint=hint)
    return list(values)


def _sent(
    select: LiteralString, event: str, texts: Sequence[str], parameters: tuple[object, ...]
) -> Generator[Statement, Sequence[Any], Any]:
    """Yields the statements to run, is sent the row of each, and returns the id or ids."""
    check = _checks.get(event)
    fits = check is not None and check.problem(texts) is None
    while True:
        known = check.sha256 if check is not None and fits else ""
        sent, schema = yield select + _EVENT, (known, *parameters, known, event)
        if schema is None:
            return sent
        check = _checks[event] = SchemaCheck(event, schema)
        if problem := check.problem(texts):
            raise problem
        fits = True


def _sync(conn: Any, name: str) -> Any:
    return dbapi_connection(conn, twin=f"await webhooks.a{name}(conn, ...)")


async def _async(conn: Any, name: str) -> Any:
    return await async_connection(conn, twin=f"webhooks.{name}(conn, ...)")


def _run(conn: Any, steps: Generator[Statement, Sequence[Any], Answer]) -> Answer:
    with _translating(), closing(conn.cursor()) as cursor:
        statement = next(steps)
        while True:
            cursor.execute(*statement)
            try:
                statement = steps.send(values_of(cursor.fetchone()))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # the type that the generator returns


async def _arun(conn: Any, steps: Generator[Statement, Sequence[Any], Answer]) -> Answer:
    with _translating():
        statement = next(steps)
        while True:
            try:
                statement = steps.send(await _row(conn, *statement))
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return] # the type that the generator returns


async def _row(conn: Any, text: LiteralString, parameters: tuple[object, ...]) -> Sequence[Any]:
    if is_asyncpg(conn):
        return values_of(await conn.fetchrow(numbered(text), *parameters))
    async with conn.cursor() as cursor:
        await cursor.execute(text, parameters)
        return values_of(await cursor.fetchone())


@contextmanager
def _translating() -> Iterator[None]:
    """As ``translating``; a text that is not JSON, or nested too deeply, is a PayloadError."""
    with translating():
        try:
            yield
        except Exception as error:
            state, source = sqlstate(error)
            if state == _INVALID_TEXT and "json" in str(source):
                detail = getattr(getattr(source, "diag", None), "message_detail", None) or source
                raise PayloadError(f"the payload is not JSON: {detail}") from error
            if state == _TOO_COMPLEX:
                raise PayloadError(
                    "the payload is nested too deeply for PostgreSQL", hint="Send lists and objects of fewer levels."
                ) from error
            raise
