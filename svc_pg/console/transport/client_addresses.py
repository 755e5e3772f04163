"""The client of a request: its address behind trusted proxies, and its browser in words."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.datastructures import Headers

from svc_pg.console.http.requests import ConsoleRequest

USER_AGENT_LENGTH: Final = 256

_WITH_PORT: Final = re.compile(r"(?P<v4>[0-9.]+):[0-9]{1,5}|\[(?P<v6>[^\[\]]*:[^\[\]]*)\](:[0-9]{1,5})?")

_FOR: Final = re.compile(r"""(?:^|;)\s*for\s*=\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s;"]*))""", re.IGNORECASE)

# The first that occurs decides, because each browser also names some of those below it
_BROWSERS: Final = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "FxiOS/": "Firefox",
    "CriOS/": "Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
    "curl/": "curl",
}
_SYSTEMS: Final = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def client_address(
    peer: str | None, headers: Headers, trusted_proxies: Sequence[IPv4Network | IPv6Network]
) -> str | None:
    """The peer, or if it is a trusted proxy, the last address in X-Forwarded-For that is not one itself.

    Proxies append what they see, so everything to the left of that address may be the client's own invention. None if
    the server knows no address, for example on a Unix socket.
    """
    address = _parsed(peer)
    for hop in reversed(_forwarded(headers)):
        if address is None or not any(address in network for network in trusted_proxies):
            break
        before = _parsed_hop(hop)
        if before is None:
            break
        address = before
    return None if address is None else str(address)


def is_among(address: str | None, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """True if the address is in one of the networks."""
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in networks)


def is_loopback(request: ConsoleRequest) -> bool:
    """True if the client, and everybody whom a proxy names before it in any of the usual headers, is this machine."""
    named = [*_forwarded(request.headers), *_forwarded_for(request.headers), *request.headers.getlist("x-real-ip")]
    hops = map(_parsed_hop, named)
    return all(address is not None and address.is_loopback for address in (_parsed(request.client), *hops))


def user_agent(request: ConsoleRequest) -> str | None:
    """The name that the client gives itself, shortened, for the record."""
    text = request.headers.get("user-agent", "")
    return "".join(character for character in text if character.isprintable())[:USER_AGENT_LENGTH] or None


def browser(agent: str | None) -> str:
    """The browser in our words, such as ``Firefox on Linux``: a client's own words must not get into our mail."""
    name = next((name for mark, name in _BROWSERS.items() if mark in (agent or "")), "an unknown program")
    system = next((name for mark, name in _SYSTEMS.items() if mark in (agent or "")), None)
    return name if system is None else f"{name} on {system}"


def _forwarded(headers: Headers) -> list[str]:
    return [hop.strip() for header in headers.getlist("x-forwarded-for") for hop in header.split(",")]


def _forwarded_for(headers: Headers) -> list[str]:
    """The client that each element of ``Forwarded`` (RFC 7239) names; empty if it names none."""
    elements = [element for header in headers.getlist("forwarded") for element in header.split(",")]
    found = [_FOR.search(element) for element in elements]
    return ["" if each is None else each["quoted"] or each["plain"] for each in found]


def _parsed_hop(text: str) -> IPv4Address | IPv6Address | None:
    """The address of a hop, to which some proxies append its port: ``192.0.2.1:443`` or ``[2001:db8::1]:443``."""
    found = _WITH_PORT.fullmatch(text)
    return _parsed(text if found is None else found["v4"] or found["v6"])


def _parsed(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address((text or "").partition("%")[0])  # the zone of IPv6 means something on one machine only
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
