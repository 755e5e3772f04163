"""Read the body of a request: JSON in UTF-8, counted while it arrives, and refused if parsers could differ on it."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from pydantic.alias_generators import to_camel
from starlette.datastructures import Headers

from svc_pg.console.http.requests import ConsoleRequest, Problem
from svc_pg.formats.pydantic_errors import reason

MAX_DEPTH: Final = 64
MAX_ERRORS: Final = 20
RECEIVE_SECONDS: Final = 30


class RequestBody(BaseModel):
    """The base of models for ``read_body``: names in camelCase, no other fields, and no value of another type."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)


def without_defaults(schema: dict[str, Any]) -> None:
    """Take the defaults out of the schema of a body whose fields stay as they are if they are left out."""
    for field in schema["properties"].values():
        field.pop("default", None)


Body = TypeVar("Body", bound=BaseModel)


def read_body(request: ConsoleRequest, model: type[Body]) -> Body:
    """The body as an instance of ``model``; no body counts as one without fields.

    Raises Problem 422 ``invalid_body``, whose ``errors`` are the first twenty, each with a JSON pointer and a reason.
    """
    try:
        return model.model_validate_json(request.content or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        errors = [{"pointer": pointer(each["loc"]), "detail": reason(each)} for each in problems[:MAX_ERRORS]]
        raise Problem(422, "invalid_body", "The body is not valid; see errors.", errors=errors) from error


def pointer(steps: Iterable[int | str]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


async def read_content(headers: Headers, chunks: AsyncIterator[bytes], *, max_bytes: int) -> bytes:
    """The body as it arrived, empty if there is none. Raises Problem 408, 413 or 415."""
    content = await received(chunks, max_bytes=max_bytes, is_accepted=_is_json(headers))
    if content is None:
        raise Problem(415, "unsupported_media_type", "Send the body as application/json in UTF-8.")
    return content


async def received(chunks: AsyncIterator[bytes], *, max_bytes: int, is_accepted: bool) -> bytes | None:
    """The bytes of a body, or None for one that is not accepted. Raises Problem 408 and 413."""
    content = bytearray()
    try:
        async with asyncio.timeout(RECEIVE_SECONDS):
            async for chunk in chunks:
                if not is_accepted:
                    return None
                content += chunk
                if len(content) > max_bytes:
                    raise Problem(413, "body_too_large", f"The body may have {max_bytes} bytes.", max_bytes=max_bytes)
    except TimeoutError as error:
        detail = f"The body did not arrive within {RECEIVE_SECONDS} s."
        raise Problem(408, "body_too_slow", detail, headers={"Connection": "close"}) from error
    return bytes(content)


def parse_json(content: bytes) -> JsonValue:
    """The value of a body, or None if there is none. Raises Problem 400."""
    if not content:
        return None
    try:
        return _parse(content.decode())
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
    """Refuse values that ``json`` accepts: deep nesting, and half of a surrogate pair, which no database stores."""
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
