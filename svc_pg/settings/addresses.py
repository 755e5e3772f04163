"""Addresses as settings and requests write them: of people, of the server that sends mail, and of pages."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

_ATOM: Final = r"[A-Za-z0-9!#$%&'+/=?^_`{|}~-]+"  # without the star, which makes a pattern
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*"
_EMAIL: Final = re.compile(rf"(?=.{{3,254}}\Z)(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@{_DOMAIN}")
_PATTERN: Final = re.compile(rf"(?=.{{3,254}}\Z)\*@{_DOMAIN}")
_HOST: Final = re.compile(rf"{_DOMAIN}|[0-9A-Fa-f:.]+")
_LOCAL_NAMES: Final = (".local", ".internal", ".home.arpa")
"""Top-level domains of private networks (RFC 6762, RFC 8375, and ICANN's resolution 2024.07.29.06)."""
_USUAL_PORTS: Final = {"http": 80, "https": 443}


def is_email(text: str) -> bool:
    """True if this is exactly one e-mail address (RFC 5321), in ASCII: no display name, no list, no quoted part.

    The limit to ASCII also excludes domains that only look like another one.
    """
    return _EMAIL.fullmatch(text) is not None


def email_or_pattern(text: str) -> str:
    """An address, or ``*@domain`` for all of a domain, in lower case. Raises ValueError."""
    if not _PATTERN.fullmatch(text) and not is_email(text):
        raise ValueError("write one address, or *@domain for everybody in a domain")
    return text.lower()


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The server that takes outgoing mail. With ``starttls`` nothing is sent before the connection is encrypted."""

    host: str
    port: int
    starttls: bool
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read ``smtp://user:password@host:port?starttls=require|off``; the host is enough. Raises ValueError.

        User and password are percent-encoded. No message contains a part of the URL.
        """
        parts = _split(url, schemes=("smtp",))
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        starttls = options.pop("starttls", "require")
        if options or parts.path not in ("", "/") or parts.fragment or starttls not in ("require", "off"):
            raise ValueError("after the port, write only ?starttls=require or ?starttls=off")
        if (parts.username is None) != (parts.password is None):
            raise ValueError("a user needs a password, percent-encoded, and the other way round")
        is_encrypted = starttls == "require"
        if not is_encrypted and parts.username is not None:
            raise ValueError("with starttls=off the password would be sent in the clear; leave one of them out")
        return cls(
            host=parts.hostname or "",
            port=parts.port or (587 if is_encrypted else 25),
            starttls=is_encrypted,
            user=None if parts.username is None else unquote(parts.username),
            password=None if parts.password is None else unquote(parts.password),
        )


def page_url(text: str) -> str:
    """An address for people to open, such as ``https://console.example/``. Raises ValueError."""
    parts = _split(text, schemes=("https", "http"))
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("write scheme, host and path alone")
    return text


def service_url(text: str) -> str:
    """An address that a program posts to, such as ``http://timestamps.example/``. Raises ValueError."""
    parts = _split(text, schemes=("https", "http"))
    if parts.username is not None or parts.fragment:
        raise ValueError("write scheme, host, path and query alone")
    return text


def origin(url: str) -> str:
    """The origin of a page as browsers send it (RFC 6454): scheme and host in lower case, a port if unusual."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _USUAL_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def unreachable(url: str) -> str | None:
    """A warning if a link leads to this machine or its network, so that people elsewhere cannot open it; else None."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # of a Host header that is none
        return None
    where = _reach(host)
    if where is None:
        return None
    return (
        f"A link to {host} opens {where} alone. Set SVC_CONSOLE_PUBLIC_URL to the address at which people reach the"
        " console."
    )


def _reach(host: str) -> str | None:
    """The only place from which this host is reached; None if it is reached from everywhere."""
    try:
        address = ip_address(host)
    except ValueError:
        name = host.lower().rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return "on this machine"
        is_local = "." not in name or name.endswith(_LOCAL_NAMES)
        return "within its network" if name and is_local else None
    if address.is_loopback or address.is_unspecified:
        return "on this machine"
    return None if address.is_global else "within its network"


def _split(url: str, *, schemes: tuple[str, ...]) -> SplitResult:
    form = " or ".join(f"{scheme}://host" for scheme in schemes)
    try:
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError
        parts = urlsplit(url)
        is_host = parts.hostname is not None and _HOST.fullmatch(parts.hostname) is not None
        if parts.scheme not in schemes or not is_host or parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError(f"not a URL; write {form}") from None  # urlsplit's message would show the password
    return parts
