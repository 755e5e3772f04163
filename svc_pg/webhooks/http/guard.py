"""Restrict the addresses of webhooks (no SSRF): when an endpoint is registered, and when a connection is opened."""

import errno
import re
import socket
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Literal, Self
from urllib.parse import quote

import idna

from svc_pg.config import WebhooksConfig
from svc_pg.errors import EndpointError

UrlBy = Literal["operator", "customer"]
"""The person or program that gave a URL."""

AddrInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""As socket.getaddrinfo returns it: family, type, protocol, canonical name, socket address."""

# Not ipaddress.is_global: it calls 64:ff9b::7f00:1, 2002:7f00:1::, ::127.0.0.1 and multicast global.
_DENIED_IPV4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
    "168.63.129.16/32"  # the host of a machine in Azure
)
# All but 2000::/3, the only one that is allotted: loopback, NAT64, discard-only, private, link-local, multicast, others
_DENIED_IPV6 = "::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20"
_DENIED = [ip_network(text) for text in (*_DENIED_IPV4.split(), *_DENIED_IPV6.split())]
# Routers of a site turn [::5efe:10.0.0.1] of any prefix into 10.0.0.1 (ISATAP; RFC 5214, 6.1, with the bit u or not)
_ISATAP, _ISATAP_MASK = 0x0000_5EFE_0000_0000, 0xFDFF_FFFF_0000_0000
_MAX_URL = 2048
_DEFAULT_PORT = {"http": 80, "https": 443}
_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]+)(?P<rest>.*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[(?P<ipv6>[^\[\]]+)\]|(?P<name>[^\[\]:]+))(:(?P<port>[0-9]{0,5}))?")
_NAME = re.compile(r"(?!.{254})(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.(?!$)|$))+")
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")  # a name that ends in a number is an IPv4 address (WHATWG)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")
_FRAMING_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te"}
    | {"trailer", "transfer-encoding", "upgrade"}
)
_SIGNATURE_HEADERS = ("webhook-", "x-webhook-")


class BlockedAddress(OSError):
    """A connection to this address is not allowed."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EACCES, f"{address} is not a public address")
        self.address = address


@dataclass(frozen=True)
class Guard:
    """The addresses that webhooks may connect to: public ones, and those in ``allow_cidrs``.

    URLs from customers have a guard of their own: see ``given_by``.
    """

    allow_cidrs: Sequence[IPv4Network | IPv6Network] = ()
    allow_http: bool = field(default=False, kw_only=True)
    allow_for_customers: bool = field(default=False, kw_only=True)

    @classmethod
    def of(cls, config: WebhooksConfig) -> Self:
        """The guard of a configuration."""
        return cls(
            tuple(config.allow_cidrs), allow_http=config.allow_http, allow_for_customers=config.allow_for_customers
        )

    def given_by(self, who: UrlBy) -> "Guard":
        """The guard of URLs from ``who``: for customers https to public addresses alone, unless they may use all."""
        return self if who == "operator" or self.allow_for_customers else _OF_CUSTOMERS

    def check_url(self, url: str) -> str:
        """The URL as it is stored: scheme and host in lower case, the host in IDNA, no default port, in ASCII.

        Raises EndpointError. A name is not resolved here, because it may have another address tomorrow.
        """
        if len(url) > _MAX_URL:
            raise EndpointError(f"the URL has {len(url)} characters", hint=f"At most {_MAX_URL} are accepted.")
        if not url.isprintable() or "\\" in url or " " in url:
            raise EndpointError(
                "the URL contains a space, a backslash or a control character", hint="Percent-encode it."
            )
        if not (parts := _URL.fullmatch(url)):
            raise EndpointError("the URL does not begin with https:// and a host")
        scheme, authority, rest = parts["scheme"].lower(), parts["authority"], parts["rest"]
        if scheme == "http" and not self.allow_http:
            raise EndpointError("the URL is not https", hint=self._advice("Use https, or set allow_http"))
        if "@" in authority:
            raise EndpointError("the URL contains a user name", hint="Send credentials in a custom header.")
        if "#" in rest:
            raise EndpointError("the URL contains a fragment (#)", hint="It would never be sent; leave it out.")
        if not (match := _AUTHORITY.fullmatch(authority)):
            raise EndpointError(f'"{authority}" is not a host and a port')
        host = self._checked_ipv6(match["ipv6"]) if match["ipv6"] else self._checked_host(match["name"])
        port = int(match["port"] or _DEFAULT_PORT[scheme])
        if not 0 < port < 65536:
            raise EndpointError(f"port {port} does not exist", hint="Ports are 1 to 65535.")
        suffix = "" if port == _DEFAULT_PORT[scheme] else f":{port}"
        return f"{scheme}://{host}{suffix}{quote(rest, safe=string.punctuation)}"

    def is_allowed(self, address: str) -> bool:
        """True if a connection may go to this IP address. False for text that is not an IP address."""
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        if isinstance(ip, IPv6Address):
            ip = ip.ipv4_mapped or ip
        if any(ip in network for network in self.allow_cidrs):
            return True
        is_isatap = isinstance(ip, IPv6Address) and int(ip) & _ISATAP_MASK == _ISATAP
        return not is_isatap and not any(ip in network for network in _DENIED)

    def socket_factory(self, addr_info: AddrInfo) -> socket.socket:
        """A socket for this address. Raises BlockedAddress.

        This is the check that cannot be passed by: whatever name or spelling led here, the address is final.
        """
        family, kind, protocol, _, address = addr_info
        if not self.is_allowed(str(address[0])):
            raise BlockedAddress(str(address[0]))
        return socket.socket(family, kind, protocol)

    def _checked_host(self, name: str) -> str:
        try:
            ascii_name = name if name.isascii() else idna.encode(name, uts46=True).decode()
        except UnicodeError as error:
            raise EndpointError(f'"{name}" is not a host name: {error}') from error
        host = ascii_name.lower().removesuffix(".")
        if _NUMERIC.fullmatch(host):
            return self._checked_ipv4(host)
        if not _NAME.fullmatch(host):
            raise EndpointError(f'"{name}" is not a host name')
        if host == "localhost" or host.endswith(".localhost"):
            self._check_address("127.0.0.1", spelling=name)
        return host

    def _checked_ipv4(self, host: str) -> str:
        """Dotted decimal, from any of the spellings that resolvers accept: 2130706433, 0x7f.1, 0177.0.0.1, 127.1."""
        try:
            address = str(IPv4Address(socket.inet_aton(host)))
        except OSError as error:
            raise EndpointError(f'"{host}" is not an IPv4 address') from error
        self._check_address(address, spelling=host)
        return address

    def _checked_ipv6(self, host: str) -> str:
        try:
            address = IPv6Address(host)
        except ValueError as error:
            raise EndpointError(f'"{host}" is not an IPv6 address') from error
        if address.scope_id is not None:
            raise EndpointError(f'"{host}" has a zone', hint="Zones have a meaning on one machine only.")
        self._check_address(str(address), spelling=host)
        return f"[{address}]"

    def _check_address(self, address: str, *, spelling: str) -> None:
        if not self.is_allowed(address):
            meaning = "" if spelling == address else f" ({address})"
            raise EndpointError(
                f'"{spelling}"{meaning} is not a public address',
                hint=self._advice("To deliver to your own network, add its range to allow_cidrs"),
            )

    def _advice(self, text: str) -> str:
        """A hint for operators, who may change the configuration, or for customers, who may not."""
        return (
            "Give an https address that the internet reaches." if self is _OF_CUSTOMERS else f"{text} under [webhooks]."
        )


_OF_CUSTOMERS = Guard()


def check_header(name: str, value: str) -> None:
    """Raise EndpointError if a header could change the request that it is part of. The value is never shown."""
    if not _HEADER_NAME.fullmatch(name):
        raise EndpointError(f"{name!r} is not the name of a header")
    if name.lower() in _FRAMING_HEADERS:
        raise EndpointError(f'header "{name}" is set by svc-pg', hint="Leave it out.")
    if not _HEADER_VALUE.fullmatch(value):
        raise EndpointError(f'header "{name}" contains a line break or a character outside ASCII')


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise EndpointError if any of these headers could change the request that they are part of.

    It is called for every request, and quick if their names were checked before and their values are printable.
    """
    _check_names(tuple(headers))
    values = "".join(headers.values())
    if not (values.isascii() and values.isprintable()):
        for name, value in headers.items():
            check_header(name, value)


@lru_cache(maxsize=1000)
def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        check_header(name, "")


def check_custom_headers(headers: Mapping[str, str]) -> None:
    """Raise EndpointError if a custom header of an endpoint is not acceptable."""
    seen: set[str] = set()
    for name, value in headers.items():
        check_header(name, value)
        if name.lower() in seen:
            raise EndpointError(f'header "{name}" occurs twice', hint="Upper and lower case are the same to HTTP.")
        seen.add(name.lower())
        if name.lower().startswith(_SIGNATURE_HEADERS):
            raise EndpointError(f'header "{name}" carries the signature', hint="Choose another name.")
