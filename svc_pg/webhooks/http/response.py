"""The kept part of a receiver's response: bounded, and in characters that PostgreSQL can store."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

MAX_BODY_BYTES: Final = 16 * 1024
MAX_HEADERS: Final = 32
MAX_HEADER_BYTES: Final = 8 * 1024
_FOREVER: Final = timedelta(seconds=10**9)


def kept_body(raw: bytes | bytearray) -> tuple[str, bool]:
    """The beginning of a body, at most 16 KiB of UTF-8 without NUL, and whether there was more."""
    text = _text(raw[:MAX_BODY_BYTES])
    # cut again: a replacement character is longer than the byte that it replaces
    kept = text.encode()[:MAX_BODY_BYTES].decode(errors="ignore")
    return kept, len(raw) > MAX_BODY_BYTES or len(kept) < len(text)


def kept_headers(raw_headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """At most 32 headers and 8 KiB by lower-case name, repeated ones joined; no cookies, they are credentials."""
    headers: dict[str, str] = {}
    size = 0
    for raw_name, raw_value in raw_headers:
        name, value = _text(raw_name).lower(), _text(raw_value)
        is_new = name not in headers
        grown = size + len(name.encode()) + len(value.encode()) + len(", ")
        if name == "set-cookie" or grown > MAX_HEADER_BYTES or (is_new and len(headers) == MAX_HEADERS):
            continue
        headers[name] = value if is_new else f"{headers[name]}, {value}"
        size = grown
    return headers


def retry_after_of(raw_headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The first value of Retry-After; None if there is none."""
    return next((_text(value) for name, value in raw_headers if name.lower() == b"retry-after"), None)


def parse_retry_after(value: str) -> timedelta | None:
    """Seconds or an HTTP date (RFC 9110, 10.2.3); None if it is neither, or not in the future."""
    if re.fullmatch("[0-9]+", value):
        digits = value.lstrip("0")  # a number of so many that int() refuses them is long enough too
        wait = timedelta(seconds=int(digits or "0")) if len(digits) < 10 else _FOREVER
    else:
        try:
            until = parsedate_to_datetime(value)
            wait = until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)
        except (ValueError, OverflowError):
            return None
    return wait if wait > timedelta(0) else None


def _text(raw: bytes | bytearray) -> str:
    return raw.decode(errors="replace").replace("\0", "")
