"""The problems that a route can answer with, as its responses in the OpenAPI document tell them."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from pydantic import JsonValue

from svc_pg.console.database import pool as database
from svc_pg.console.http.documentation import Documentation
from svc_pg.console.http.phrases import phrase_of
from svc_pg.console.openapi.headers import COUNTED, headers
from svc_pg.console.openapi.json_schema import REF_TEMPLATE, Schema
from svc_pg.settings import Permission

PROBLEM: Final = "application/problem+json"
CODES: Final = "x-codes"
"""The member of a response with the codes of its problems. A schema that allowed no others would make clients that are
generated fail at a code of a later version, or of the application."""

# The problems of every route, and the further ones of routes with a session, a query and a body: codes and status
_ALWAYS: Final = {"internal_error": 500}
_COUNTED: Final = {"rate_limited": 429}
_WITH_SESSION: Final = {
    "not_authenticated": 401,
    "invalid_token": 401,
    "insufficient_scope": 403,
    "invalid_session": 403,
    "invalid_value": 422,
    "too_many_calls": 429,
    **database.PROBLEMS,
}
_WITH_CHANGE: Final = {"foreign_origin": 403, "read_only": 403}
_WITHOUT_TENANTS: Final = {"not_for_tenants": 403}
_WITH_QUERY: Final = {"invalid_parameter": 422}
_WITH_BODY: Final = {
    "invalid_json": 400,
    "client_disconnected": 400,
    "body_too_slow": 408,
    "body_too_large": 413,
    "body_refused": 413,
    "unsupported_media_type": 415,
    "invalid_body": 422,
}

PROBLEM_SCHEMA: Final[Schema] = {
    "type": "object",
    "description": "The problem (RFC 9457). Programs decide by code.",
    "required": ["title", "status", "code", "requestId"],
    "properties": {
        "title": {
            "type": "string",
            "description": "The name of the status, for people.",
            "examples": ["Not Found"],
        },
        "status": {"type": "integer", "description": "The status of the response.", "examples": [404]},
        "detail": {
            "type": "string",
            "description": "The problem in a sentence, for people.",
            "examples": ["No endpoint has this id."],
        },
        "code": {
            "type": "string",
            "description": "One of those that the response lists, or not_found if no route has the method and the path."
            " Later versions may have others.",
            "examples": ["unknown_endpoint"],
        },
        "requestId": {
            "type": "string",
            "description": "The id of the request, as in the header X-Request-Id and in the log of the console.",
            "examples": ["2f1d0c9b8a7645f3a1b2c3d4e5f60718"],
        },
        "retryAfter": {
            "type": "integer",
            "description": "The seconds to wait before the next try, as the header Retry-After says.",
            "examples": [30],
        },
        "parameter": {
            "type": "string",
            "description": "The parameter of the query that is not acceptable.",
            "examples": ["limit"],
        },
        "errors": {
            "type": "array",
            "description": "The problems of the body, each with its JSON pointer (RFC 6901). If a change cannot be"
            " reverted, its reasons, each with a pointer to the table, the record and the field, and the later entry in"
            " the way.",
            "items": {
                "type": "object",
                "description": "One problem of the body, or one reason.",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {
                        "type": "string",
                        "description": "A JSON pointer to the member that it is about.",
                        "examples": ["/maxInFlight"],
                    },
                    "detail": {
                        "type": "string",
                        "description": "The problem of the member, for people.",
                        "examples": ["at most 1000"],
                    },
                    "entryId": {
                        "type": ["string", "null"],
                        "description": "The id of the later entry that stands in the way; null if there is none.",
                        "examples": ["184467"],
                    },
                },
            },
        },
    },
}


def problems(
    documentation: Documentation,
    *,
    more: Mapping[str, int],
    method: str,
    permission: Permission | None,
    serves_tenants: bool,
) -> dict[str, JsonValue]:
    """The responses of a route that are problems, by their status. ``permission`` is None if it needs no session."""
    has_session = permission is not None
    codes: dict[str, int] = {**(_COUNTED if has_session else {}), **_ALWAYS, **documentation.errors, **more}
    codes |= _WITH_SESSION if has_session else {}
    codes |= _WITH_CHANGE if has_session and method != "GET" else {}
    codes |= _WITHOUT_TENANTS if has_session and not serves_tenants else {}
    codes |= _WITH_QUERY if documentation.query else {}
    codes |= _WITH_BODY if documentation.body is not None else {}
    return {str(status): _problem(status, _with_status(codes, status)) for status in sorted(set(codes.values()))}


def _with_status(codes: Mapping[str, int], wanted: int) -> list[str]:
    return [code for code, status in codes.items() if status == wanted]


def _problem(status: int, codes: list[str]) -> JsonValue:
    problem: dict[str, JsonValue] = {
        "description": f"{phrase_of(status)}: {', '.join(codes)}",
        CODES: list(codes),
        "content": {PROBLEM: {"schema": {"$ref": REF_TEMPLATE.format(model="Problem")}}},
    }
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        is_counted = status == HTTPStatus.TOO_MANY_REQUESTS
        problem["headers"] = headers("Retry-After", *(COUNTED if is_counted else ()))
    return problem
