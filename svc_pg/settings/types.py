"""Read one setting as the environment spells it. Raise ValueError, which shows no secret, if it cannot be read."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, SecretStr

from svc_pg.database.conninfo import libpq
from svc_pg.formats import durations
from svc_pg.settings import addresses, encryption_keys, seal_keys

_LONGEST_SESSION: Final = timedelta(days=365)

_COLOUR: Final = re.compile(r"#[0-9A-Fa-f]{6}")
_IMAGES: Final = {".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp"}
_MAX_LOGO: Final = 64 * 1024
_LOGO: Final = "write the path of an .svg, .png or .webp file of up to 64 KiB, or a data: URL of one with base64"
_HEADER_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,99}")
_OTHER_HEADERS: Final = frozenset({"authorization", "cookie", "host", "origin", "x-forwarded-for"})
_ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::[1-9]\d{0,4})?")


def json_list(value: object) -> object:
    """A list, read from JSON if it is a text."""
    return _json(value, example='["first", "second"]')


def json_map(value: object) -> object:
    """Names with values, read from JSON if they are a text."""
    return _json(value, example='{"ann@corp.example": "admin", "*@corp.example": "read"}')


def _json(value: object, *, example: str) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, object_pairs_hook=_without_repetition)
    except ValueError as error:
        raise ValueError(f"not JSON, or a name occurs twice; write, for example, {example}") from error


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def one_permission_each(value: object) -> object:
    """The map. Raises ValueError if it has an address in two spellings: addresses are compared in lower case."""
    if isinstance(value, Mapping) and len({str(email).lower() for email in value}) < len(value):
        raise ValueError("an address occurs twice, in capital and small letters")
    return value


def _network(value: object) -> object:
    return ip_network(value) if isinstance(value, str) else value


def _database_url(value: SecretStr) -> SecretStr:
    return SecretStr(libpq(value.get_secret_value()))


def _read_by(read: Callable[[str], object]) -> AfterValidator:
    """A check that a secret can be read by a function; it stays as it is written."""

    def check(value: SecretStr) -> SecretStr:
        read(value.get_secret_value())
        return value

    return AfterValidator(check)


def _seal_public_keys(value: str) -> str:
    seal_keys.parse_public(value)
    return value


def _origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value) or addresses.origin(value) != value:
        raise ValueError(
            f"{value!r} is not an origin as browsers send it; write scheme://host or scheme://host:port in lower case,"
            " without path, default port or wildcard"
        )
    return value


def _token_hash(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith("sha256:"):
        raise ValueError("write sha256: and hexadecimal digits, not the connection token itself")
    return value


def _header_name(value: str) -> str:
    if not _HEADER_NAME.fullmatch(value) or value.lower() in _OTHER_HEADERS:
        raise ValueError("write the name of a header that the proxy sets, such as X-Forwarded-Email")
    return value


def _lifetime(value: object) -> timedelta:
    is_seconds = isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
    wanted = durations.parse(f"{value}s" if is_seconds else value)
    if not timedelta(seconds=1) <= wanted <= _LONGEST_SESSION:
        raise ValueError("a session lasts between a second and 365 days")
    return wanted


def _colour(value: str) -> str:
    if not _COLOUR.fullmatch(value):
        raise ValueError("write a colour as #rrggbb, such as #a03e1c")
    return value.lower()


@dataclass(frozen=True, slots=True)
class Image:
    """A small image, with its media type."""

    media_type: str
    content: bytes


def _logo(value: object) -> Image:
    """Read a file, or a ``data:`` URL with base64."""
    if isinstance(value, Image):
        return value
    if not isinstance(value, str):
        raise ValueError(_LOGO)
    if value.startswith("data:"):
        kind, _, encoded = value.removeprefix("data:").partition(";base64,")
        if kind not in _IMAGES.values() or len(encoded) > 2 * _MAX_LOGO:
            raise ValueError(_LOGO)
        image = Image(kind, b64decode(encoded, validate=True))
    else:
        path = Path(value)
        if path.suffix.lower() not in _IMAGES or not path.is_file() or path.stat().st_size > _MAX_LOGO:
            raise ValueError(_LOGO)
        image = Image(_IMAGES[path.suffix.lower()], path.read_bytes())
    if not 0 < len(image.content) <= _MAX_LOGO:
        raise ValueError(_LOGO)
    return image


def _email(value: str) -> str:
    if not addresses.is_email(value):
        raise ValueError("write one e-mail address, without a display name")
    return value


Colour = Annotated[str, AfterValidator(_colour)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(_database_url)]
Email = Annotated[str, AfterValidator(_email)]
EmailOrPattern = Annotated[str, AfterValidator(addresses.email_or_pattern)]
EncryptionKeys = Annotated[SecretStr, _read_by(encryption_keys.parse)]
HeaderName = Annotated[str, AfterValidator(_header_name)]
Lifetime = Annotated[timedelta, BeforeValidator(_lifetime)]
Logo = Annotated[Image, BeforeValidator(_logo)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Origin = Annotated[str, AfterValidator(_origin)]
PageUrl = Annotated[str, AfterValidator(addresses.page_url)]
SealKey = Annotated[SecretStr, _read_by(seal_keys.parse_private)]
SealPublicKeys = Annotated[str, AfterValidator(_seal_public_keys)]
SmtpUrl = Annotated[SecretStr, _read_by(addresses.SmtpServer.parse)]
TimestampUrl = Annotated[SecretStr, _read_by(addresses.service_url)]
TokenHash = Annotated[SecretStr, AfterValidator(_token_hash)]
