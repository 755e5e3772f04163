"""Read the body of a request: JSON in UTF-8, counted while it arrives, strict where parsers differ."""

import json
import math
from collections.abc import AsyncIterator

from pydantic import JsonValue
from starlette.datastructures import Headers

from svc_pg.console.requests import Problem

MAX_DEPTH = 64


async def read_json(headers: Headers, chunks: AsyncIterator[bytes], *, max_bytes: int) -> JsonValue:
    """The parsed body, or None where there is none. Raises Problem 400, 413 or 415."""
    received = bytearray()
    async for chunk in chunks:
        if not _is_json(headers):
            raise Problem(415, "unsupported_media_type", "Send the body as application/json in UTF-8.")
        received += chunk
        if len(received) > max_bytes:
            raise Problem(413, "body_too_large", f"The body may have {max_bytes} bytes.", max_bytes=max_bytes)
    if not received:
        return None
    try:
        return _parse(received.decode())
    except UnicodeError as error:
        raise Problem(400, "invalid_json", "The body is not valid UTF-8 text.") from error
    except ValueError as error:
        raise Problem(400, "invalid_json", "The body is not JSON, or not unambiguous JSON.") from error
    except RecursionError as error:
        raise Problem(400, "invalid_json", f"The body is nested deeper than {MAX_DEPTH} levels.") from error


def _is_json(headers: Headers) -> bool:
    media_type, *parameters = headers.get("content-type", "").lower().replace(" ", "").split(";")
    is_utf8 = all(parameter in ("", "charset=utf-8", 'charset="utf-8"') for parameter in parameters)
    is_plain = headers.get("content-encoding", "identity").lower() == "identity"
    return media_type == "application/json" and is_utf8 and is_plain


def _parse(text: str) -> JsonValue:
    value: JsonValue = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)
    _check(value, depth=1)
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is too large")
    return number


def _check(value: JsonValue, *, depth: int) -> None:
    """Refuse what ``json`` lets through: deep nesting, and half of a surrogate pair, which no database stores."""
    match value:
        case str():
            value.encode()
        case list() | dict() if depth > MAX_DEPTH:
            raise RecursionError
        case list():
            for item in value:
                _check(item, depth=depth + 1)
        case dict():
            for name, member in value.items():
                name.encode()
                _check(member, depth=depth + 1)
