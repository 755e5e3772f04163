"""The addresses of calls: the base URL of a client, and the path and the query of an operation."""

import re
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import httpx
from pydantic.alias_generators import to_camel

from svc_pg.client.errors import CallError
from svc_pg.errors import ConfigError
from svc_pg.formats import durations

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_HOST: Final = re.compile(r"[0-9A-Za-z_.:%-]*")
_DOTS: Final = frozenset({".", ".."})


def api_address(base_url: str, *, prefix: str, allow_http: bool = False) -> str:
    """The address below which the operations are: ``base_url`` and the prefix, which it may have already.

    Raises ConfigError if it is no address, has a name and password, or would send the token unencrypted.
    """
    example = "Write the address of the application, such as https://shop.example"
    if not _VISIBLE.fullmatch(base_url):
        raise ConfigError("base_url is empty, or has a space, a line break or a letter beyond ASCII", hint=example)
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname or "", parts.port
        host.encode("idna")  # as the lookup of the name does
        httpx.URL(base_url).host.encode()  # as each call does
    except (ValueError, httpx.InvalidURL):
        raise ConfigError("base_url is not a URL", hint=example) from None  # whose text may have a password
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("base_url does not begin with https:// and a host", hint=example)
    if not _HOST.fullmatch(host):
        raise ConfigError("base_url is not a URL", hint=example)
    if "@" in parts.netloc:
        raise ConfigError("base_url has a name or a password in it", hint="Pass the token of a program as token.")
    if parts.query or parts.fragment or any(segment in _DOTS for segment in parts.path.split("/")):
        raise ConfigError("base_url has a query, a fragment, or dots in its path", hint=example)
    if parts.scheme == "http" and not allow_http and not _is_here(host):
        hint = "Write https://, or pass allow_http=True for a server in a network that you trust."
        raise ConfigError(f"base_url would send the token to {host} unencrypted", hint=hint)
    address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return address if address.endswith(prefix) else address + prefix


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def path_of(template: str, values: Sequence[str]) -> str:
    """The path with a value in place of each ``{name}``; each of its characters stands for itself. Raises CallError."""
    names = re.findall(r"\{(\w+)\}", template)
    for name, value in zip(names, values, strict=True):
        template = template.replace(f"{{{name}}}", _segment(name, value), 1)
    return template


def _segment(name: str, value: object) -> str:
    text = str(value)
    if not isinstance(value, str) or not text:
        raise CallError(f"{name} is {'empty' if value == '' else 'not a text'}")
    try:
        return text.replace(".", "%2E") if text in _DOTS else quote(text, safe="")
    except UnicodeEncodeError as error:
        raise CallError(f"{name} has half of a surrogate pair, which no text has") from error


def query_of(given: Mapping[str, object], *, with_commas: Collection[str] = ()) -> str:
    """The parameters as a query, without those that are None. Raises CallError.

    Of several values each is a parameter of its own, but of those named by ``with_commas``. No values would be no
    parameter, and the answer everything, so they are refused.
    """
    pairs: list[tuple[str, str]] = []
    for name, value in given.items():
        if value is None:
            continue
        texts = [text_of(name, each) for each in _each(name, value)]
        if name in with_commas:
            texts = [",".join(texts)]
        pairs += [(to_camel(name), text) for text in texts]
    try:
        return urlencode(pairs, quote_via=quote)
    except UnicodeEncodeError as error:
        raise CallError("a parameter has half of a surrogate pair, which no text has") from error


def _each(name: str, value: object) -> Collection[object]:
    """The values of a parameter. One that can be read only once is refused: each page asks with the same values."""
    if not isinstance(value, Sequence | Set) or isinstance(value, str | bytes | bytearray | memoryview):
        return [value]
    if not value:
        raise CallError(f"{name} is empty", hint="Leave it out, or pass None, to have no such filter.")
    return value


def text_of(name: str, value: object) -> str:
    """The value of a parameter as a text. Raises CallError."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case datetime() if value.tzinfo is not None:
            return value.isoformat()
        case timedelta() if value > timedelta(0):
            return durations.text(value)
    if isinstance(value, datetime):
        raise CallError(f"{name} is {value!r:.100}: write it with its time zone")
    raise CallError(f"{name} is {value!r:.100}: write a text, a number, a time, a positive duration, or a list of them")
