"""The actor of the running code, whom the connections of this process ask for."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Final

MAX_ID_LENGTH: Final = 512


@dataclass(frozen=True, slots=True)
class Actor:
    """The one who acts, the tenant, and a ``context`` that is stored as JSON with every entry.

    Raises ValueError if the id or the tenant is empty, longer than 512 characters or not a text that PostgreSQL can
    store, and TypeError or ValueError if the context is not JSON. A later change of the context is not noticed.
    """

    id: str
    tenant: str | None = None
    context: Mapping[str, object] | None = field(default=None, compare=False)
    _parameters: Mapping[str, str] = field(init=False, repr=False, hash=False)

    def __post_init__(self) -> None:
        _check("an actor", self.id)
        if self.tenant is not None:
            _check("a tenant", self.tenant)
        context = "" if self.context is None else json.dumps(self.context, allow_nan=False)
        parameters = {"actor_id": self.id, "tenant_id": self.tenant or "", "context": context}
        object.__setattr__(self, "_parameters", parameters)


def parameters(actor: Actor | None) -> Mapping[str, str]:
    """The texts ``actor_id``, ``tenant_id`` and ``context`` of an actor; empty is none, and None stands for nobody."""
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
    ``threading.Thread``. Blocks nest: the innermost applies, with its own tenant. Its context has the members of the
    blocks around it too, and its own member wins over another of the same name. Raises as ``Actor`` does.
    """
    with acting_as(Actor(actor_id, tenant, context)):
        yield


@contextmanager
def acting_as(actor: Actor | None) -> Iterator[None]:
    """As ``acting``, for an existing ``Actor``. None stands for nobody, whoever acts outside the block."""
    token = _current.set(None if actor is None else within(actor, parameters(_current.get())["context"]))
    try:
        yield
    finally:
        _current.reset(token)


def within(actor: Actor, context: str | None) -> Actor:
    """The actor with the members of ``context``, the JSON of a block around it; what is no object has none."""
    around = _members(context)
    own = _members(actor._parameters["context"])
    if not around or (actor._parameters["context"] and own is None):
        return actor
    return replace(actor, context={**around, **(own or {})})


def _members(text: str | None) -> Mapping[str, object] | None:
    if not text:
        return None
    try:
        found = json.loads(text)
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check(what: str, text: str) -> None:
    if not text:
        raise ValueError(f"{what} needs a name")
    if len(text) > MAX_ID_LENGTH:
        raise ValueError(f"{what} has at most {MAX_ID_LENGTH} characters, not {len(text)}")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{what} has no NUL and no lone surrogates, which PostgreSQL cannot store")
