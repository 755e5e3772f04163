"""The error of an answer that is none: a problem document (RFC 9457), or what something on the way says."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from svc_pg.client.errors import HINTS, ApiError, ClientError, Fault, UnexpectedAnswerError, error_of_status

MOVED: Final = "Write the final address as base_url."
"""The hint of a redirect."""

_NOT_OURS: Final = "The answer is none of svc-pg's: is a proxy between, or base_url wrong?"
_MOST_FAULTS: Final = 100
_MOST_CHARACTERS: Final = 2000


def problem_of(status: int, headers: Mapping[str, str], body: bytes, *, hint: str | None = None) -> ClientError:
    """The error of an answer with this status, with the hint of the call, or else one for the status.

    Its message has no part of a body that is not the API's.
    """
    if status < HTTPStatus.BAD_REQUEST:
        return _redirected(status, headers)
    document = _document(headers, body)
    code = _text(document, "code") or ""
    detail = _text(document, "detail") or _text(document, "title") or f"The server answers {status}."
    request_id = _text(document, "requestId") or headers.get("x-request-id")
    named = " ".join(filter(None, [str(status), code]))
    kind: type[ApiError] = error_of_status(status)
    return kind(
        f"{detail} ({', '.join(filter(None, [named, request_id and f'request {request_id}']))})",
        hint=hint or (HINTS.get(status) if document else _NOT_OURS),
        status=status,
        code=code,
        detail=_text(document, "detail"),
        request_id=request_id,
        retry_after=retry_after(headers),
        parameter=_text(document, "parameter"),
        faults=_faults(document.get("errors")),
    )


def _redirected(status: int, headers: Mapping[str, str]) -> ClientError:
    """No redirect is followed: it could lead the token, or a change, to another server."""
    try:
        where = urlsplit(headers.get("location", "")[:_MOST_CHARACTERS])
        to = f" to {where.scheme}://{where.hostname}" if where.hostname else ""
    except ValueError:
        to = ""
    return UnexpectedAnswerError(f"the server redirects{to} ({status}), which is not followed", hint=MOVED)


def _document(headers: Mapping[str, str], body: bytes) -> Mapping[str, Any]:
    if "json" not in headers.get("content-type", "").lower():
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and "code" in found else {}


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    return value[:_MOST_CHARACTERS] if isinstance(value, str) else None


def _faults(errors: object) -> list[Fault]:
    found = errors[:_MOST_FAULTS] if isinstance(errors, list) else []
    return [
        Fault(_text(each, "pointer") or "", _text(each, "detail") or "") for each in found if isinstance(each, dict)
    ]


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of the header ``Retry-After``, which may be a time (RFC 9110, 10.2.3); None without a good one."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # of years and zones beyond those of datetime
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
