"""The egress proxy: its address, and our credentials."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import unquote_to_bytes, urlsplit

NO_CREDENTIALS: Final = 407
"""The status of a proxy that lacks credentials, or refuses ours."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the headers of all requests to it: the credentials, if there are any."""

    host: str
    port: int
    headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, url: str) -> Self:
        """The proxy of a URL that was checked: http://user:password@host:port."""
        parts = urlsplit(url)
        headers = {}
        if parts.username is not None:
            credentials = b"%b:%b" % (unquote_to_bytes(parts.username), unquote_to_bytes(parts.password or ""))
            headers["Proxy-Authorization"] = f"Basic {b64encode(credentials).decode()}"
        return cls(parts.hostname or "", parts.port or 80, headers)


def refusal(status: int) -> str:
    """The error if a proxy answers with this status."""
    return f"the proxy answered {status}"
