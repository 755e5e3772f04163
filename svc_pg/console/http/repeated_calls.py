"""Answer a call that is repeated with the same header Idempotency-Key with the answer of the first, for a day.

It follows the draft https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header. Only a success is kept:
after a refusal the call may be made again with the same key.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Final, cast

from pydantic import JsonValue

from svc_pg.console.http.documentation import Parameter
from svc_pg.console.http.once import AlreadyMadeError, Connecting, Once
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleRequest, ConsoleResponse, Problem
from svc_pg.console.http.sealing import Sealer
from svc_pg.database.query import RawJson
from svc_pg.formats.json_writer import encode

KEY_BYTES: Final = 1024
REFUSED_KEY: Final = {"invalid_idempotency_key": 422}
REFUSED_REPETITION: Final = {**REFUSED_KEY, "idempotency_key_reused": 422, "already_made": 409}
"""The codes of the problems that ``answered`` raises, and their status."""
REPLAYED: Final = "Idempotency-Replayed"

_PURPOSE: Final = "call"
_SECONDS: Final = 24 * 3600
"""As long as ``svc.console_prune`` leaves it."""
_MOST_CHARACTERS: Final = 16 * 1024  # as the table has it

Handler = Callable[[AuthenticatedRequest], Awaitable[ConsoleResponse]]


def idempotency_key(description: str) -> Parameter:
    """The header of a route, which says what a repetition does."""
    schema: dict[str, JsonValue] = {"type": "string", "minLength": 1, "maxLength": KEY_BYTES}
    return Parameter(
        name="Idempotency-Key", description=description, schema={**schema, "examples": ["order-7-created"]}
    )


IDEMPOTENCY_KEY: Final = idempotency_key(
    "a repetition of the session with the same key, within a day, changes nothing and gets the answer of the first,"
    f" with the header {REPLAYED}; with another body it is refused"
)


def key_of(request: ConsoleRequest) -> str | None:
    """The key of a call, if it has one. Raises Problem 422."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    # all calls with an empty key would count as one
    if len(keys) > 1 or not 0 < len(keys[0].encode("latin-1")) <= KEY_BYTES:
        detail = f"Send the header Idempotency-Key once, with 1 to {KEY_BYTES} bytes."
        raise Problem(422, "invalid_idempotency_key", detail)
    return keys[0]


class RepeatedCalls:
    """Keeps answers beside the forms of the pages, sealed with a key derived from those that sign sessions."""

    def __init__(self, connecting: Connecting, keys: Sequence[bytes]) -> None:
        self._connecting = connecting
        self._sealer = Sealer(keys)

    async def answered(self, request: AuthenticatedRequest, handler: Handler) -> ConsoleResponse:
        """The answer of a handler, or the one that was kept as the call was made before. Raises Problem."""
        key = key_of(request)
        if key is None:
            return await handler(request)
        whose = _whose(request)
        digest = sha256(json.dumps(["call", whose, request.method, request.path, key]).encode()).digest()
        once = Once(self._connecting, digest, session_id=whose)
        try:
            async with once:
                response = await handler(replace(request, once=once))
                if response.status < HTTPStatus.BAD_REQUEST:
                    await once.keep(self._sealed(request, response))
                else:
                    await once.forget()
                return response
        except AlreadyMadeError as made:
            kept: str | None = made.answer
        except Problem as problem:  # perhaps because the call has changed already what it asks for
            kept = await _kept(once, problem)
            if kept is None:
                raise
        return self._opened(request, kept or "")

    def _sealed(self, request: AuthenticatedRequest, response: ConsoleResponse) -> str:
        body = None if response.body is None else encode(response.body).decode()
        value: list[JsonValue] = [_fingerprint(request), response.status, body, dict(response.headers)]
        text = self._seal(request, value)
        return text if len(text) <= _MOST_CHARACTERS else self._seal(request, value[:1])

    def _seal(self, request: AuthenticatedRequest, value: JsonValue) -> str:
        return self._sealer.sealed(value, purpose=_PURPOSE, whose=_whose(request), seconds=_SECONDS)

    def _opened(self, request: AuthenticatedRequest, kept: str) -> ConsoleResponse:
        match self._sealer.opened(kept, purpose=_PURPOSE, whose=_whose(request)):
            case [fingerprint, *_] if fingerprint != _fingerprint(request):
                detail = "The header Idempotency-Key names a call with another body. Send another key."
                raise Problem(422, "idempotency_key_reused", detail)
            case [_, int() as status, body, dict() as headers]:
                answer = None if body is None else RawJson(str(body))
                return ConsoleResponse(status, answer, {**cast(dict[str, str], headers), REPLAYED: "true"})
            case _:  # it was too long, its time is over, or the key that sealed it is none of the settings any more
                raise Problem(409, "already_made", "This call was made before, and its answer is no longer known.")


async def _kept(once: Once, problem: Problem) -> str | None:
    try:
        return await once.kept()
    except Problem:
        raise problem from None


def _whose(request: AuthenticatedRequest) -> str:
    """Tells a caller from all others, also if ids of sessions are an application's own, and two share one."""
    session = request.session
    return json.dumps([session.session_id, session.email, session.tenant])


def _fingerprint(request: ConsoleRequest) -> str:
    """Equal for bodies that say the same."""
    return sha256(json.dumps(request.body, sort_keys=True).encode()).hexdigest()
