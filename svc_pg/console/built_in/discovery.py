"""Routes that tell a front end whether the console answers, and its capabilities."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.products import PERMISSIONS
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse
from svc_pg.console.http.tokens import SignInMethod
from svc_pg.formats.doc import Doc
from svc_pg.settings import Permission

API_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Health:
    """The console answers; the database is not asked."""

    status: Annotated[Literal["ok"], Doc("The state of the console.")]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The products, the ways to sign in, and the permissions."""

    products: Annotated[Sequence[str], Doc("The ids of the products.", ["account", "audit", "webhooks"])]
    auth_methods: Annotated[Sequence[SignInMethod], Doc("The ways to sign in.", ["magic_link"])]
    permissions: Annotated[
        Sequence[Permission], Doc("The permissions, from the least to the greatest.", ["read", "write", "admin"])
    ]
    api_version: Annotated[int, Doc("The version of the API, which changes if an older client would fail.", 1)]


HEALTH: Final = Documentation(
    operation_id="health.get", summary="Whether the console answers", response=Health, response_example={"status": "ok"}
)
CAPABILITIES: Final = Documentation(
    operation_id="capabilities.get", summary="Products, sign-in methods and permissions", response=Capabilities
)


async def health(_request: ConsoleRequest) -> ConsoleResponse:
    """The console answers; the database is not asked."""
    return ConsoleResponse(200, Health("ok"))


def capabilities(
    product_ids: Callable[[], Awaitable[Sequence[str]]], auth_methods: Sequence[SignInMethod]
) -> Callable[[ConsoleRequest], Awaitable[ConsoleResponse]]:
    """The handler that tells a front end the capabilities of the console."""

    async def handle(_request: ConsoleRequest) -> ConsoleResponse:
        return ConsoleResponse(200, Capabilities(await product_ids(), auth_methods, PERMISSIONS, API_VERSION))

    return handle
