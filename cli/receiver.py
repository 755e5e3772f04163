"""A receiver of webhooks for development: it reports each webhook, and whether it is authentic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import FastAPI, Request, Response
from starlette.datastructures import Headers

from svc_pg.errors import WebhookSignatureError
from svc_pg.integrations.fastapi import MAX_BYTES, limited_body
from svc_pg.webhooks.signing import assert_webhook_signature

from . import json_text


@dataclass(frozen=True, slots=True)
class Arrival:
    """One webhook and its answer. Its fields may be hostile text, unless ``is_verified``.

    ``is_verified`` is None if there was no secret to verify with. In ``body``, invalid UTF-8 is replaced.
    """

    received_at: datetime
    delivery_id: str
    event: str
    is_verified: bool | None
    reason: str | None
    body: str
    is_json: bool
    status: int


def receiver(secrets: Sequence[str], *, status: int, on_arrival: Callable[[Arrival], None]) -> FastAPI:
    """An application that takes webhooks on every path and answers ``status``, or 401 if one does not verify."""
    app = FastAPI(openapi_url=None)

    @app.post("/{path:path}")
    async def receive(request: Request) -> Response:
        arrival = _arrival(request.headers, await limited_body(request, max_bytes=MAX_BYTES), secrets, status)
        on_arrival(arrival)
        return Response(status_code=arrival.status)

    return app


def _arrival(headers: Headers, raw: bytes, secrets: Sequence[str], status: int) -> Arrival:
    reason = _refusal(headers, raw, secrets) if secrets else None
    try:
        envelope, is_json = json_text.parse(raw.decode()), True
    except ValueError:
        envelope, is_json = None, False
    event = envelope.get("type") if isinstance(envelope, dict) else None
    return Arrival(
        received_at=datetime.now(UTC),
        delivery_id=headers.get("webhook-id") or headers.get("x-webhook-id", ""),
        event=event if isinstance(event, str) else "",
        is_verified=reason is None if secrets else None,
        reason=reason,
        body=raw.decode(errors="replace"),
        is_json=is_json,
        status=401 if reason else status,
    )


def _refusal(headers: Headers, raw: bytes, secrets: Sequence[str]) -> str | None:
    try:
        assert_webhook_signature(headers=headers, body=raw, secret=secrets)
    except WebhookSignatureError as error:
        return error.message
    return None
