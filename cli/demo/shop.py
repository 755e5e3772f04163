"""The demo's applications: a small shop with the console in it, and a partner that receives its webhooks."""

import secrets
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, Final

from fastapi import FastAPI, HTTPException, Request, Response
from psycopg_pool import AsyncConnectionPool

from svc_pg import webhooks
from svc_pg.console import Console, new_connection_token, register_tenants
from svc_pg.errors import WebhookSignatureError
from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.extractors import from_header
from svc_pg.integrations.psycopg import with_audit
from svc_pg.settings import Settings

from .answers import RECEIVERS
from .database import CONFIG

FAILING: Final = {each.name.partition("/")[0] for each in RECEIVERS if each.kind == "failing"}


def shop(conninfo: str, *, encryption_keys: str, seal_public_keys: str) -> FastAPI:
    """The shop: each request acts as the user in its header, as behind a gateway that has authenticated the user."""
    _, token_hash = new_connection_token()
    settings = Settings.load(
        env="development",
        console_auto_approve=True,
        console_connection_token_hash=token_hash,
        encryption_keys=encryption_keys,
        seal_public_keys=seal_public_keys,
    )
    pool = with_audit(AsyncConnectionPool(conninfo, open=False, min_size=1))
    console = Console(settings, pool=pool, config=CONFIG)
    register_tenants(console)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with pool, console.lifespan(app):
            yield

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.add_middleware(ActorMiddleware, extractor=from_header("x-user"), records_request=True)

    @app.post("/customers", status_code=201)
    async def sign_up(customer_id: int, name: str, email: str) -> None:
        async with pool.connection() as conn:
            row = (customer_id, name, email, secrets.token_hex(16))
            await conn.execute("insert into customer (id, name, email, password_hash) values (%s, %s, %s, %s)", row)

    @app.patch("/customers/{customer_id}", status_code=204)
    async def change_email(customer_id: int, email: str) -> None:
        async with pool.connection() as conn:
            await conn.execute("update customer set email = %s where id = %s", (email, customer_id))

    @app.post("/orders", status_code=201)
    async def place_order(order_id: int, customer_id: int, total: Decimal) -> None:
        async with pool.connection() as conn:
            order = (order_id, customer_id, total)
            await conn.execute("insert into orders (id, customer_id, total) values (%s, %s, %s)", order)
            await webhooks.asend(conn, "order.placed", {"id": order_id, "total": str(total)})
            if total > 1000:
                raise HTTPException(402)  # rolls back the order, its audit entry and its message

    console.install(app)
    return app


class Partner:
    """The partners' application: down for the first webhook; it verifies all others and keeps the authentic ones.

    It also serves as the receivers of the past hour, of which one still fails.
    """

    def __init__(self) -> None:
        self.secret = ""
        self.received: deque[dict[str, Any]] = deque(maxlen=100)
        self.last: tuple[Mapping[str, str], str] = ({}, "")
        """The headers and the body of the last authentic webhook, as they came."""
        self._is_up = False
        self.app = FastAPI(openapi_url=None)
        self.app.post("/webhooks")(self._receive)
        self.app.post("/{host}/{path:path}")(self._answer)

    async def _receive(self, request: Request) -> Response:
        if not self._is_up:
            self._is_up = True
            return Response(status_code=500)
        body = await request.body()
        try:
            event = webhooks.assert_webhook_signature(headers=request.headers, body=body, secret=self.secret)
        except WebhookSignatureError:
            return Response(status_code=401)
        self.received.append(event)
        self.last = (dict(request.headers), body.decode())
        return Response(status_code=204)

    async def _answer(self, host: str) -> Response:
        return Response(status_code=503 if host in FAILING else 204)
