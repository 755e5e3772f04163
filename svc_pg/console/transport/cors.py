"""The web origins that may read the console's answers (Fetch standard, CORS)."""

from collections.abc import Collection, Mapping
from typing import Final

from svc_pg.settings import Settings, addresses

EXPOSED_HEADERS: Final = (
    "Retry-After, Location, Content-Disposition, ETag, X-Request-Id, WWW-Authenticate, Link, Allow, Svc-Pg-Version"
    ", Idempotency-Replayed, RateLimit, RateLimit-Policy"
)
"""The headers of responses that a browser would not show to the page without this."""
PREFLIGHT_HEADERS: Final[Mapping[str, str]] = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, PUT, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Authorization",
    "Access-Control-Max-Age": "600",
}
_ON_DEMAND: Final = ("If-Match", "Idempotency-Key")


def allowed_origins(settings: Settings) -> frozenset[str]:
    """The origins that are set; else that of the console's front end, if its address is known."""
    if settings.console_allowed_origins is not None:
        return frozenset(settings.console_allowed_origins)
    page = settings.console_public_url
    return frozenset() if page is None else frozenset({addresses.origin(page)})


def origin_headers(origin: str | None, allowed: Collection[str]) -> Mapping[str, str]:
    """The headers that let a page of this origin read a response; none for other origins."""
    if origin is None or origin not in allowed:
        return {}
    return {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED_HEADERS}


def preflight_headers(origin: str | None, allowed: Collection[str], *, asked: str = "") -> Mapping[str, str]:
    """The headers of a preflight's answer; none if another origin asks.

    The specification allows Content-Type and Authorization. If-Match and Idempotency-Key are added for a page whose
    ``asked``, which is Access-Control-Request-Headers, names them.
    """
    if origin is not None and origin not in allowed:
        return {}
    names = {name.strip().lower() for name in asked.split(",")}
    added = [name for name in _ON_DEMAND if name.lower() in names]
    allowed_headers = ", ".join([PREFLIGHT_HEADERS["Access-Control-Allow-Headers"], *added])
    return {**PREFLIGHT_HEADERS, "Access-Control-Allow-Headers": allowed_headers}
