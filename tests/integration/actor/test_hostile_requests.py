"""No request makes a middleware or a receiver raise, take more than its bounds, or believe what nobody signed."""

import asyncio
import base64
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

import jwt
from fastapi import Depends, FastAPI
from hypothesis import event, given, target
from hypothesis import strategies as st

from svc_pg.audit import current_actor
from svc_pg.integrations.asgi import ActorMiddleware
from svc_pg.integrations.extractors import (
    ACTOR_HEADER,
    ACTOR_VARIABLE,
    Extractor,
    from_bearer,
    from_cookie,
    from_header,
)
from svc_pg.integrations.fastapi import Envelope, signed_webhook
from svc_pg.integrations.wsgi import WsgiActorMiddleware
from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret
from tests.integration.actor.tokens import SECRET, bearer, expired

MOST_BYTES: Final = 2000
WEBHOOK_SECRET: Final = new_secret()
BODIES: Final = [
    *(b"{}", b'{"id": "m", "data": {}}', b"[]", b"null", b"NaN", b'{"a": \xff}', b"", b"\xef\xbb\xbf{}", b"{" * 300),
    *(b"[" * 1999, b'{"a":' * 300, b'{"a": ' + b"9" * 1900 + b"}", b'"' + b"x" * 1999, b"{}" + b" " * 1998, b"{} {}"),
]
EXTRACTORS: Final[Mapping[str, Extractor]] = {
    "bearer": from_bearer(verify=SECRET),
    "unverified": from_bearer(unverified=True),
    "cookie": from_cookie("user"),
    "header": from_header("x-user"),
}
Headers = Sequence[tuple[bytes, bytes]]


def encoded(headers: Mapping[str, str]) -> Headers:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def segment(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def token(headers: Mapping[str, str]) -> bytes:
    return headers["authorization"].encode()


SIGNED: Final = [token(bearer(subject)) for subject in ("mara", "", "a" * 512, "a" * 513, "\0", "\u202e", 7, ["mara"])]
OTHERS: Final = [
    *(token(bearer(key="another secret, which is long enough for it")), token(expired())),
    b"Bearer " + jwt.encode({"sub": "mara"}, SECRET, headers={"crit": ["x"], "kid": "../x"}).encode(),
]
tokens = st.sampled_from([*SIGNED, *OTHERS])
pieces = st.sampled_from(
    [
        *(b"[" * 9000, b'{"alg":"none"}', b'{"alg":"HS256","typ":"JWT"}', b'{"alg":[]}', b'{"sub":"mara"}', b"null"),
        *(b'{"sub":["mara"]}', b'{"sub":{"a":1}}', b'{"sub":"\\u0000"}', b'{"sub":"\\ud800"}', b'{"exp":1e999}'),
        *(b'{"exp":"x"}', b'{"nbf":' + b"9" * 4000 + b"}", b'{"iat":' + b"9" * 5000 + b"}", b'{"sub":7}', b"\xff", b""),
    ]
) | st.binary(max_size=30)
made_up = st.lists(pieces, min_size=1, max_size=5).map(lambda parts: b"Bearer " + b".".join(map(segment, parts)))
names = st.sampled_from(
    [
        *(
            b"authorization",
            b"cookie",
            b"x-user",
            ACTOR_HEADER.encode(),
            b"X_Svc-Audit_Actor-ID",
            b"x-request-id",
            b"webhook-id",
        ),
        *(b"webhook-timestamp", b"webhook-signature", b"x-webhook-id", b"x-webhook-signature", b"content-length"),
        *(b"content-type", b"transfer-encoding", b"expect", b"", b"\xff"),
    ]
)
values = st.one_of(
    st.binary(max_size=40),
    tokens,
    made_up,
    st.sampled_from(
        [
            *(b"user=mara", b'user="\\052\\"x"; user=', b"user=" + b"a" * 5000, b"user=%00; =; ;;", b"v1," * 3000),
            *(b"1" * 13, b"-1", b"1e9", b"0", b"9" * 12, b"\xd9\xa1", b"application/json", b"v1a,\xff v1,", b"\0"),
        ]
    ),
)
hostile = st.lists(st.tuples(names, values), max_size=8)


class Sent:
    """An ASGI server's side of one request; it counts the bytes that were taken."""

    def __init__(self, parts: Sequence[bytes], *, ends: bool) -> None:
        self._parts, self._ends = [*parts], ends
        self.taken = 0
        self.status: int | None = None

    async def receive(self) -> dict[str, Any]:
        if not self._parts:
            return {"type": "http.disconnect"}
        part = self._parts.pop(0)
        self.taken += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(self._parts) or not self._ends}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]


def scope_of(path: str, headers: Headers) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "server": ("t", 80),
        "headers": [(name.lower(), value) for name, value in headers],
        "client": ("192.0.2.1", 1),
        "state": {},
    }


def receiving() -> tuple[FastAPI, list[Envelope]]:
    """An application with a receiver, and the envelopes that it got."""
    app, received = FastAPI(openapi_url=None), list[Envelope]()
    verified = signed_webhook(secret=[WEBHOOK_SECRET, new_secret()], max_bytes=MOST_BYTES)

    @app.post("/", status_code=204)
    async def receive(envelope: Annotated[Envelope, Depends(verified)]) -> None:
        received.append(envelope)

    return app, received


APP, RECEIVED = receiving()


@given(
    body=st.sampled_from(BODIES) | st.binary(max_size=60),
    extra=hostile,
    places=st.lists(st.integers(0, 2100), max_size=4),
    change=st.sampled_from(["none", "body", "headers", "unsigned", "endless", "age"]),
    ends=st.booleans(),
)
def test_a_receiver_hands_over_what_was_signed_and_answers_all_else(
    body: bytes, extra: Headers, places: list[int], change: str, *, ends: bool
) -> None:
    RECEIVED.clear()
    stamp = int(time.time()) - (400 if change == "age" else 0)
    headers = encoded(sign(delivery_id="d", timestamp=stamp, body=body, secrets=[WEBHOOK_SECRET]))
    sent = body + b" " if change == "body" else body + b"x" * 9000 if change == "endless" else body
    kept = [] if change == "unsigned" else [*headers, *(extra if change == "headers" else [])]
    cuts = sorted({0, len(sent), *(place % (len(sent) + 1) for place in places)})
    parts = [sent[begin:end] for begin, end in pairwise(cuts)] or [b""]
    request = Sent(parts, ends=ends)
    asyncio.run(APP(scope_of("/", kept), request.receive, request.send))
    event(f"{change}: {request.status}")
    target(float(request.taken), label="bytes taken")
    assert request.status in (204, 400, 401, 413)
    assert request.taken <= MOST_BYTES + max(map(len, parts))
    if RECEIVED:
        assert change in ("none", "headers")
        assert [json.loads(body)] == RECEIVED
    else:
        assert request.status != 204


def seen_in_asgi(extractor: Extractor, headers: Headers) -> tuple[Any, list[bytes]]:
    """The actor that an application under the middleware sees, and the names of headers."""
    seen: list[Any] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append((current_actor(), [name for name, _ in scope["headers"]]))

    middleware = ActorMiddleware(app, extractor=extractor, records_request=True)
    sent = Sent([b""], ends=True)
    asyncio.run(middleware(scope_of("/", headers), sent.receive, sent.send))
    [found] = seen
    return found  # type: ignore[no-any-return]


def seen_in_wsgi(extractor: Extractor, headers: Headers) -> Any:
    """As ``seen_in_asgi``: the actor, and the variables of the environ."""
    seen: list[Any] = []

    def app(environ: Any, _start: Any) -> Iterator[bytes]:
        seen.append((current_actor(), [*environ]))
        yield b""

    environ: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.1"}
    for name, value in headers:
        environ["HTTP_" + name.decode("latin-1").upper().replace("-", "_")] = value.decode("latin-1")
    body = WsgiActorMiddleware(app, extractor=extractor, records_request=True)(environ, lambda *_: lambda _: None)
    assert [*body] == [b""]
    [found] = seen
    return found


@given(name=st.sampled_from([*EXTRACTORS]), headers=hostile)
def test_any_request_reaches_the_application_with_an_actor_that_can_be_stored(name: str, headers: Headers) -> None:
    actor, names_seen = seen_in_asgi(EXTRACTORS[name], headers)
    same, variables = seen_in_wsgi(EXTRACTORS[name], headers)
    assert ACTOR_HEADER.encode() not in {each.lower().replace(b"_", b"-") for each in names_seen}
    assert ACTOR_VARIABLE not in variables
    target(float(sum(len(value) for _, value in headers)), label="bytes of headers")
    for each in (actor, same):
        event("nobody" if each is None else "somebody")
        if each is not None:
            assert 1 <= len(each.id) <= 512
            assert "\0" not in each.id
            assert each.id.encode()  # no lone surrogate
        if name == "bearer" and each is not None:
            assert any(value in SIGNED for _, value in headers)
