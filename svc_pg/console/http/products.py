"""Products: the groups of routes that an application shows in the console, and who may call them."""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.errors import ConfigError
from svc_pg.settings import Permission

Method = Literal["GET", "POST", "PATCH", "DELETE"]
Handler = Callable[[AuthenticatedRequest], ConsoleResponse | Awaitable[ConsoleResponse]]

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
"""The permissions from the least to the greatest; each includes those before it."""

RESERVED_IDS = frozenset({"account", "console", "ui"})

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, kw_only=True)
class ProductEndpoint(Documentation):
    """One route of a product. ``path`` is relative to the product, and ``:name`` in it matches any one segment.

    A sync ``handler`` runs in a thread. If it ``serves_tenants``, sessions of one tenant reach it too, and it must
    give and change only what belongs to ``request.session.tenant``. If it ``is_stream``, its answer may last: it takes
    no turn of its session, and ends within 5 seconds of it. If it ``is_compressed``, its answer never shows a secret
    beside what somebody else has written, and clients get it compressed. If it ``keeps_answer``, a repetition with the
    same header ``Idempotency-Key`` gets the answer of the first call: its handler makes all its changes in
    ``console.acting``. The other fields are for the OpenAPI document.
    """

    method: Method
    path: str
    handler: Handler
    required_permission: Permission = "read"
    serves_tenants: bool = False
    is_stream: bool = False
    is_compressed: bool = False
    keeps_answer: bool = False

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise ConfigError(f"endpoint {self.path!r}: method {self.method!r} is not one of {_listed(Method)}")
        if self.required_permission not in PERMISSIONS:
            raise ConfigError(
                f"endpoint {self.path!r}: permission {self.required_permission!r} is not one of {_listed(Permission)}"
            )
        if self.keeps_answer and self.is_stream:
            raise ConfigError(f"endpoint {self.path!r}: an answer that is a stream cannot be kept")


@dataclass(frozen=True, kw_only=True)
class Product:
    """A group of routes under ``/<id>/``. ``name`` and ``description`` are for people."""

    id: str
    name: str
    endpoints: Sequence[ProductEndpoint]
    description: str = ""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ConfigError(
                f"product id {self.id!r} cannot be a segment of a path",
                hint="Write letters, digits, dots, hyphens and underscores.",
            )


def permits(granted: Collection[Permission], required: Permission) -> bool:
    """True if one of the granted permissions is the required one or a greater one."""
    sufficient = PERMISSIONS[PERMISSIONS.index(required) :]
    return any(permission in sufficient for permission in granted)


def _listed(literal: object) -> str:
    return ", ".join(get_args(literal))
