"""Routes that tell a front end whether the console answers, and its capabilities."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from svc_pg.console.documentation import Documentation
from svc_pg.console.products import PERMISSIONS
from svc_pg.console.requests import ConsoleRequest, ConsoleResponse
from svc_pg.console.tokens import SignInMethod
from svc_pg.settings import Permission

API_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Health:
    """The console answers; the database is not asked."""

    status: Literal["ok"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The ids of the products, the sign-in methods, and the permissions from the least to the greatest."""

    products: Sequence[str]
    auth_methods: Sequence[SignInMethod]
    permissions: Sequence[Permission]
    api_version: int


HEALTH: Final = Documentation(summary="Whether the console answers", response=Health, response_example={"status": "ok"})
CAPABILITIES: Final = Documentation(summary="Products, sign-in methods and permissions", response=Capabilities)


async def health(_request: ConsoleRequest) -> ConsoleResponse:
    """The console answers; the database is not asked."""
    return ConsoleResponse(200, Health("ok"))


def capabilities(
    product_ids: Callable[[], Sequence[str]], auth_methods: Sequence[SignInMethod]
) -> Callable[[ConsoleRequest], Awaitable[ConsoleResponse]]:
    """The handler that tells a front end the capabilities of the console."""

    async def handle(_request: ConsoleRequest) -> ConsoleResponse:
        return ConsoleResponse(200, Capabilities(product_ids(), auth_methods, PERMISSIONS, API_VERSION))

    return handle
