"""Which web origins may read the console's answers (Fetch standard, CORS)."""

import re
from collections.abc import Collection, Mapping

from svc_pg.errors import ConfigError

PREFLIGHT_HEADERS: Mapping[str, str] = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, PUT, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type, Authorization",
    "Access-Control-Max-Age": "600",
}

_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[1-9]\d{0,4}))?"
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def exact_origins(origins: Collection[str]) -> frozenset[str]:
    """The origins, each exactly as a browser sends it. Raises ConfigError that names every one that none can send."""
    wrong = [origin for origin in origins if not _is_origin(origin)]
    if wrong:
        raise ConfigError(
            f"SVC_CONSOLE_ALLOWED_ORIGINS: not an origin as browsers send it: {', '.join(map(repr, wrong))}",
            hint="Write scheme://host or scheme://host:port in lower case, without path, default port or wildcard.",
        )
    return frozenset(origins)


def origin_headers(origin: str | None, allowed: Collection[str]) -> Mapping[str, str]:
    """The header that lets a page of this origin read a response; none for other origins."""
    return {"Access-Control-Allow-Origin": origin} if origin is not None and origin in allowed else {}


def preflight_headers(origin: str | None, allowed: Collection[str]) -> Mapping[str, str]:
    """The headers of a preflight's answer; none where another origin asks."""
    return PREFLIGHT_HEADERS if origin is None or origin in allowed else {}


def _is_origin(text: str) -> bool:
    match = _ORIGIN.fullmatch(text)
    return match is not None and match["port"] != _DEFAULT_PORTS[match["scheme"]]
