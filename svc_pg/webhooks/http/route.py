"""The route to a destination: the other end of its connections, and the head of its requests, written once."""

from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from svc_pg import __version__
from svc_pg.webhooks.http.guard import Guard, UrlBy, check_headers
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Destination, Request

DEFAULT_HEADERS: Final[Mapping[str, str]] = {
    "User-Agent": f"svc-pg/{__version__}",
    "Content-Type": "application/json",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
}
"""Sent unless the destination or the request has others."""


class Site(NamedTuple):
    """The other end of connections that can be shared. ``host`` is an ASCII name, or an address without brackets."""

    host: str
    port: int
    is_tls: bool
    tls: Tls | None
    url_by: UrlBy


class Route(NamedTuple):
    """A destination, prepared. Times are in seconds.

    ``is_answered_by_proxy`` if a response may be the proxy's own: not through a tunnel, and not for a customer's
    receiver, which could forge one.
    """

    site: Site
    line: str
    headers: Mapping[str, str]
    head: bytes
    names: frozenset[str]
    timeout: float
    connect_timeout: float
    is_answered_by_proxy: bool

    def write(self, request: Request) -> bytes:
        """The bytes of a request. Raises EndpointError if one of its headers could change it."""
        check_headers(request.headers)
        head, names = self.head, _lower(tuple(request.headers))
        if not self.names.isdisjoint(names):  # the request's own headers replace those of all
            head = (self.line + _lines(_others(self.headers, names))).encode()
        own = _lines(request.headers).encode()
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (head, own, len(request.body), request.body)


def route(destination: Destination, guard: Guard, proxy: Proxy | None = None) -> Route:
    """Prepare a destination. Raises EndpointError if its URL is not allowed."""
    parts = urlsplit(guard.given_by(destination.url_by).check_url(destination.url))
    is_tls = parts.scheme == "https"
    line = f"{request_line(parts, is_absolute=proxy is not None and not is_tls)}\r\nHost: {parts.netloc}\r\n"
    headers = dict(DEFAULT_HEADERS)
    for own in (destination.headers, {} if proxy is None or is_tls else proxy.headers):
        headers = {**_others(headers, _lower(tuple(own))), **own}
    return Route(
        site=Site(
            parts.hostname or "", parts.port or (443 if is_tls else 80), is_tls, destination.tls, destination.url_by
        ),
        line=line,
        headers=headers,
        head=(line + _lines(headers)).encode(),
        names=_lower(tuple(headers)),
        timeout=destination.timeout.total_seconds(),
        connect_timeout=destination.connect_timeout.total_seconds(),
        is_answered_by_proxy=proxy is not None and not is_tls and destination.url_by == "operator",
    )


def request_line(url: SplitResult, *, is_absolute: bool = False) -> str:
    """The first line of a request to this URL; ``is_absolute`` as a proxy wants it (RFC 9112, 3.2.2)."""
    site = f"{url.scheme}://{url.netloc}" if is_absolute else ""
    return f"POST {site}{url.path or '/'}{f'?{url.query}' if url.query else ''} HTTP/1.1"


def _others(headers: Mapping[str, str], names: Container[str]) -> dict[str, str]:
    """The headers with other names than these, which are in lower case."""
    return {name: value for name, value in headers.items() if name.lower() not in names}


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


@lru_cache(maxsize=1000)
def _lower(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(str.lower, names))
