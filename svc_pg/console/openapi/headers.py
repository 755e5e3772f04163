"""The headers of answers, as the OpenAPI document describes them once."""

from typing import Final

from pydantic import JsonValue

from svc_pg.console.http.page_links import MOST_CHARACTERS
from svc_pg.console.http.quotas import CALLS
from svc_pg.console.http.repeated_calls import REPLAYED
from svc_pg.console.openapi.json_schema import Schema


def _header(description: str, example: JsonValue, kind: str = "string") -> JsonValue:
    return {"description": description, "schema": {"type": kind, "examples": [example]}}


HEADERS: Final[Schema] = {
    "Location": _header("The path of the new resource.", "/.well-known/svc/tenant/tenants/acme"),
    "Link": _header(
        "The addresses of the pages after and before it, if there are any (RFC 8288). Longer ones than"
        f" {MOST_CHARACTERS} characters are left out.",
        '</.well-known/svc/webhooks/endpoints?limit=20&cursor=eyJpIjo3fQ>; rel="next"',
    ),
    REPLAYED: _header("Only true: the answer is that of an earlier call with the same Idempotency-Key.", "true"),
    "RateLimit-Policy": _header(
        "The most calls (q) in a window of so many seconds (w), of each limit by which the call was counted: calls of a"
        " session, pings of an endpoint, sign-ins and codes of a network or a device, polls of a sign-in.",
        CALLS.policy,
    ),
    "RateLimit": _header(
        "What is left (r) of each of these limits until its window ends, in so many seconds (t).",
        f'"calls";r={CALLS.most - 1};t={CALLS.seconds}',
    ),
    "Retry-After": _header("The seconds to wait before the next try.", 30, "integer"),
}
COUNTED: Final = ("RateLimit-Policy", "RateLimit")


def headers(*names: str) -> Schema:
    """The headers with these names, by reference."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
