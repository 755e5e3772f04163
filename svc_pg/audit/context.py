"""The actor of the running code, read by the connections of this process."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final
from uuid import UUID

from svc_pg.database.storable_texts import is_storable, is_storable_json
from svc_pg.database.warn_once import warn_once
from svc_pg.formats.json_writer import write_ascii

MAX_ID_LENGTH: Final = 512
_UNSTORABLE: Final = "has no NUL and no lone surrogates, which PostgreSQL cannot store"
Id = str | int | UUID
"""The id of an actor or a tenant, in an application's type; the log stores its text."""


@dataclass(frozen=True, slots=True, init=False)
class Actor:
    """An actor, its tenant, and a ``context`` that is stored as JSON with every entry.

    The ids may be texts, numbers or UUIDs. Raises TypeError if one is anything else, and ValueError if it is empty,
    longer than 512 characters or not storable in PostgreSQL, or if the context is not JSON, with the path to the value,
    or holds a text that is not storable. Later changes of the context have no effect.
    """

    id: str
    tenant: str | None = None
    context: Mapping[str, object] | None = field(default=None, compare=False)
    _parameters: Mapping[str, str] = field(init=False, repr=False, hash=False)

    def __init__(
        self,
        id: Id,  # noqa: A002 - the name of the field
        tenant: Id | None = None,
        context: Mapping[str, object] | None = None,
    ) -> None:
        actor_id = _text("an actor", id)
        tenant_id = None if tenant is None else _text("a tenant", tenant)
        written = "" if context is None else _json(context)
        object.__setattr__(self, "id", actor_id)
        object.__setattr__(self, "tenant", tenant_id)
        object.__setattr__(self, "context", context)
        parameters = {"actor_id": actor_id, "tenant_id": tenant_id or "", "context": written}
        object.__setattr__(self, "_parameters", parameters)


def parameters(actor: Actor | None) -> Mapping[str, str]:
    """The texts ``actor_id``, ``tenant_id`` and ``context`` of an actor; all empty if it is None."""
    return _NOBODY if actor is None else actor._parameters


_NOBODY: Final = {"actor_id": "", "tenant_id": "", "context": ""}
_current: Final[ContextVar[Actor | None]] = ContextVar("svc_pg_actor", default=None)
_is_by_hand: Final[ContextVar[bool]] = ContextVar("svc_pg_is_by_hand", default=False)


def current_actor() -> Actor | None:
    """The actor of the innermost ``acting`` block that this code runs in, or None."""
    return _current.get()


def actor_named(actor: Id | Actor, tenant: Id | None, context: Mapping[str, object] | None) -> Actor:
    """The actor with this id, tenant and context; an ``Actor``, which has its own, is returned as it is."""
    if not isinstance(actor, Actor):
        return Actor(actor, tenant, context)
    if tenant is not None or context is not None:
        raise TypeError("an Actor has its own tenant and context; name its id to give others")
    return actor


@contextmanager
def acting(
    actor: Id | Actor, *, tenant: Id | None = None, context: Mapping[str, object] | None = None
) -> Iterator[None]:
    """Name the actor, by an id or as an ``Actor``, of changes that the block makes through connections ``with_audit``.

    Holds for the tasks that the block starts and for threads of ``asyncio.to_thread`` and anyio, but not for a bare
    ``threading.Thread``. Blocks nest: the innermost applies, with its own tenant. Its context has the members of the
    blocks around it too, and its own member wins over another of the same name. Raises as ``Actor`` does.
    """
    with acting_as(actor_named(actor, tenant, context)):
        yield


@contextmanager
def acting_as(actor: Actor | None) -> Iterator[None]:
    """As ``acting``, for an existing ``Actor``. None stands for no actor, also inside a block with one."""
    token = _current.set(None if actor is None else within(actor, parameters(_current.get())["context"]))
    try:
        yield
    finally:
        _restore(token)


def is_by_hand() -> bool:
    """True in a block of ``audit.actor``, which has set the actor of its connection itself."""
    return _is_by_hand.get()


@contextmanager
def by_hand() -> Iterator[None]:
    """Mark a block of ``audit.actor``."""
    token = _is_by_hand.set(True)
    try:
        yield
    finally:
        with suppress(ValueError):  # of another context, which acting_as warns of
            _is_by_hand.reset(token)


def act_from_now_on(actor: Actor | None) -> None:
    """Set the actor of the rest of the innermost block of this thread or task: for the hooks of frameworks."""
    _current.set(None if actor is None else within(actor, parameters(_current.get())["context"]))


def _restore(token: Token[Actor | None]) -> None:
    """End a block. If it began in another context, for example a generator in a thread, only warn."""
    try:
        _current.reset(token)
    except ValueError:
        warn_once(
            "a block of audit.acting ended in another context than it began in, so the code between ran without its"
            " actor. A dependency of FastAPI that is no coroutine does this:"
            " write Depends(acting_as(current_user)), or async def"
        )


def within(actor: Actor, context: str | None) -> Actor:
    """The actor with the members of ``context``, the JSON of an outer block; JSON that is no object adds none."""
    own = actor._parameters["context"]
    if context == own or not (around := _members(context)):
        return actor
    members = _members(own) if own else {}
    return actor if members is None else replace(actor, context={**around, **members})


def _members(text: str | None) -> Mapping[str, object] | None:
    if not text:
        return None
    try:
        found = json.loads(text, parse_float=_number)
        _json(found)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(text: str) -> Decimal | float:
    return float(text) if "e" in text.lower() else Decimal(text)


def _json(context: object) -> str:
    """The text of a context. Raises ValueError if jsonb cannot store it, because the application's write would fail."""
    text = write_ascii(context)
    if not is_storable_json(text):
        raise ValueError(f"a context {_UNSTORABLE}")
    return text


def _text(what: str, name: object) -> str:
    if not isinstance(name, Id) or isinstance(name, bool):
        raise TypeError(f"{what} is named by a text, a number or a UUID, not {type(name).__name__}")
    text = str(name)
    if not text:
        raise ValueError(f"{what} needs a name")
    if len(text) > MAX_ID_LENGTH:
        raise ValueError(f"{what} has at most {MAX_ID_LENGTH} characters, not {len(text)}")
    if not is_storable(text):
        raise ValueError(f"{what} {_UNSTORABLE}")
    return text
