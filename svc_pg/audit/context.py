"""The actor of the running code, and its way into the transaction, from which the triggers read it."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from psycopg import AsyncConnection, Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from svc_pg.errors import TransactionError

MAX_ID_LENGTH: Final = 512

SET_ACTOR: Final = """
select set_config('svc.actor_id', %(actor_id)s, true), set_config('svc.tenant_id', %(tenant_id)s, true),
       set_config('svc.context', %(context)s, true)
"""
_GET_ACTOR: Final = """
select current_setting('svc.actor_id', true) as actor_id, current_setting('svc.tenant_id', true) as tenant_id,
       current_setting('svc.context', true) as context
"""


@dataclass(frozen=True, slots=True)
class Actor:
    """The one who acts, the tenant, and a ``context`` that is stored as JSON with every entry.

    Raises ValueError if the id or the tenant is empty, longer than 512 characters or not a text that PostgreSQL can
    store, and TypeError if the context is not JSON.
    """

    id: str
    tenant: str | None = None
    context: Mapping[str, object] | None = field(default=None, hash=False)
    _parameters: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check("an actor", self.id)
        if self.tenant is not None:
            _check("a tenant", self.tenant)
        context = "" if self.context is None else json.dumps(self.context)
        parameters = {"actor_id": self.id, "tenant_id": self.tenant or "", "context": context}
        object.__setattr__(self, "_parameters", parameters)


def parameters(actor: Actor | None) -> Mapping[str, str]:
    """The parameters with which SET_ACTOR makes ``actor`` the transaction's; None stands for nobody."""
    return _NOBODY if actor is None else actor._parameters


_NOBODY: Final = {"actor_id": "", "tenant_id": "", "context": ""}
_current: Final[ContextVar[Actor | None]] = ContextVar("svc_pg_actor", default=None)


def current_actor() -> Actor | None:
    """The actor of the innermost ``acting`` block that this code runs in, or None."""
    return _current.get()


@contextmanager
def acting(actor_id: str, *, tenant: str | None = None, context: Mapping[str, object] | None = None) -> Iterator[None]:
    """Name ``actor_id`` as the actor of changes that the block makes through connections ``with_audit``.

    Holds for the tasks that the block starts and for threads of ``asyncio.to_thread`` and anyio, but not for a bare
    ``threading.Thread``. Blocks nest: the innermost applies, with its own tenant and context. Raises as ``Actor`` does.
    """
    with acting_as(Actor(actor_id, tenant, context)):
        yield


@contextmanager
def acting_as(actor: Actor | None) -> Iterator[None]:
    """As ``acting``, for an existing ``Actor``. None stands for nobody, whoever acts outside the block."""
    token = _current.set(actor)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def actor(
    conn: Connection[Any], actor_id: str, *, tenant: str | None = None, context: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Name ``actor_id`` as the actor of changes that this transaction makes in the block, with tenant and context.

    ``context`` is stored as JSON with every entry, for example ``{"request_id": "r-81"}``. The actor belongs to the
    transaction: a commit or rollback inside the block ends it, and leaving the block restores the one before. The block
    is an ``acting`` block too, so a connection ``with_audit`` keeps the actor in its next transaction. Raises
    TransactionError on an autocommit connection outside a transaction: the actor would last for one statement only.
    """
    who = Actor(actor_id, tenant, context)
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=dict_row)
    before = cursor.execute(_GET_ACTOR).fetchone()
    try:
        with acting_as(who):
            cursor.execute(SET_ACTOR, parameters(who))
            yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            cursor.execute(SET_ACTOR, before)


@asynccontextmanager
async def aactor(
    conn: AsyncConnection[Any], actor_id: str, *, tenant: str | None = None, context: Mapping[str, object] | None = None
) -> AsyncIterator[None]:
    """As ``actor``, for an async connection."""
    who = Actor(actor_id, tenant, context)
    _require_transaction(conn)
    cursor = conn.cursor(row_factory=dict_row)
    before = await (await cursor.execute(_GET_ACTOR)).fetchone()
    try:
        with acting_as(who):
            await cursor.execute(SET_ACTOR, parameters(who))
            yield
    finally:
        if conn.info.transaction_status == TransactionStatus.INTRANS:
            await cursor.execute(SET_ACTOR, before)


def _check(what: str, text: str) -> None:
    if not text:
        raise ValueError(f"{what} needs a name")
    if len(text) > MAX_ID_LENGTH:
        raise ValueError(f"{what} has at most {MAX_ID_LENGTH} characters, not {len(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{what} has no NUL and no lone surrogates, which PostgreSQL cannot store")


def _require_transaction(conn: Connection[Any] | AsyncConnection[Any]) -> None:
    if conn.autocommit and conn.info.transaction_status == TransactionStatus.IDLE:
        raise TransactionError(
            "an actor needs a transaction, and this autocommit connection is outside one",
            hint="Write: with conn.transaction(), audit.actor(conn, ...):",
        )
