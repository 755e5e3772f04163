"""Describe routes as an OpenAPI 3.1 document: https://spec.openapis.org/oas/v3.1.1."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast

from pydantic import BaseModel, JsonValue

from svc_pg.console import database
from svc_pg.console.documentation import Documentation, Parameter
from svc_pg.console.json_schema import REF_TEMPLATE, Schema, Schemas
from svc_pg.console.products import Product
from svc_pg.settings import Permission

JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
CODES: Final = "x-codes"
"""The member of a response with the codes of its problems. A schema that allowed no others would make clients that are
generated fail at a code of a later version, or of the application."""

_SESSION: Final = "session"
_DEVICE: Final = "device"
_SECURITY_SCHEMES: Final[Schema] = {
    _SESSION: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
    _DEVICE: {"type": "http", "scheme": "bearer", "description": "the deviceToken of the sign-in that is asked about"},
}
_PARAMETER: Final = re.compile(r"(?<=/):(\w+)")
_RETRY_AFTER: Final[JsonValue] = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}}
_LOCATION: Final[JsonValue] = {"Location": {"description": "the path of the resource", "schema": {"type": "string"}}}

# The problems of every route, and the further ones of routes with a session, a query and a body: codes and status
_ALWAYS: Final = {"rate_limited": 429, "internal_error": 500}
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

_PROBLEM_SCHEMA: Final[Schema] = {
    "type": "object",
    "description": "The problem (RFC 9457). Programs decide by code.",
    "required": ["title", "status", "code", "requestId"],
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {
            "type": "string",
            "description": "as the response lists them; not_found if no route has the method and the path;"
            " later versions may have others",
        },
        "requestId": {"type": "string"},
        "retryAfter": {"type": "integer", "description": "seconds, as the header Retry-After says"},
        "parameter": {"type": "string", "description": "the parameter of the query that is not acceptable"},
        "errors": {
            "type": "array",
            "description": "the problems of the body, each with its JSON pointer (RFC 6901); of what cannot be reverted"
            " the reasons, each with a pointer to the table, the record and the field, and the later entry in the way",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {"type": "string"},
                    "detail": {"type": "string"},
                    "entryId": {"type": ["string", "null"]},
                },
            },
        },
    },
}


@dataclass(frozen=True, kw_only=True)
class Route:
    """One route of a document. ``path`` is below the server's, with parameters such as ``:id``.

    ``permission`` is None if no session is needed. Routes with one ``tag`` belong together. Sessions of one tenant are
    refused unless it ``serves_tenants``.
    """

    method: str
    path: str
    documentation: Documentation
    tag: str
    permission: Permission | None = None
    serves_tenants: bool = False


def product_routes(product: Product, *, below: str) -> list[Route]:
    """The routes of a product whose paths begin with ``below``: ``/<product id>``, or nothing if it stands alone."""
    return [
        Route(
            method=endpoint.method,
            path="/".join([below, *filter(None, [endpoint.path.removeprefix("/")])]) or "/",
            documentation=endpoint,
            tag=product.name,
            permission=endpoint.required_permission,
            serves_tenants=endpoint.serves_tenants,
        )
        for endpoint in product.endpoints
    ]


def document(routes: Sequence[Route], *, title: str, server_url: str) -> dict[str, JsonValue]:
    """The document as a JSON value. Raises ConfigError if a response has a type that JSON lacks."""
    schemas = Schemas(_bodies(routes))
    schemas.components["Problem"] = dict(_PROBLEM_SCHEMA)
    paths: dict[str, dict[str, JsonValue]] = {}
    for route in routes:
        paths.setdefault(_PARAMETER.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "servers": [{"url": server_url}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": dict(paths),
        "components": {
            "schemas": dict(schemas.components),
            "securitySchemes": dict(_SECURITY_SCHEMES),
        },
    }


def _bodies(routes: Iterable[Route]) -> list[type[BaseModel]]:
    return list(dict.fromkeys(body for route in routes if (body := route.documentation.body) is not None))


def _operation(route: Route, schemas: Schemas) -> dict[str, JsonValue]:
    documentation = route.documentation
    operation: dict[str, JsonValue] = {
        "operationId": _operation_id(route),
        "tags": [route.tag],
        "security": [],
        "parameters": [
            *_path_parameters(route),
            *(_parameter(parameter, position="query") for parameter in documentation.query),
            *(_parameter(parameter, position="header") for parameter in documentation.headers),
        ],
        "responses": {str(documentation.status): _success(documentation, schemas), **_problems(route)},
    }
    if documentation.summary:
        operation["summary"] = documentation.summary
    if route.permission is not None:
        serves = " A session of one tenant gets what is that tenant's." if route.serves_tenants else ""
        operation["description"] = f"Needs the permission {route.permission}.{serves}"
        operation["security"] = [{_SESSION: [route.permission]}]  # a role, as 3.1 allows if a scheme has no scopes
    elif documentation.needs_device_token:
        operation["security"] = [{_DEVICE: []}]
    if documentation.body is not None:
        content = _content(schemas.of_body(documentation.body), documentation.body_example)
        is_required = any(field.is_required() for field in documentation.body.model_fields.values())
        operation["requestBody"] = {"required": is_required, "content": {JSON: content}}
    return operation


def _operation_id(route: Route) -> str:
    words = re.findall(r"\w+", _PARAMETER.sub(r"by_\1", route.path))
    return "_".join([route.method.lower(), *words])


def _path_parameters(route: Route) -> list[JsonValue]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(route.path)
    ]


def _parameter(parameter: Parameter, *, position: str) -> JsonValue:
    return {
        "name": parameter.name,
        "in": position,
        "description": parameter.description,
        "required": parameter.is_required,
        "schema": dict(parameter.schema),
    }


def _success(documentation: Documentation, schemas: Schemas) -> JsonValue:
    response: dict[str, JsonValue] = {"description": HTTPStatus(documentation.status).phrase}
    if documentation.status == HTTPStatus.CREATED:
        response["headers"] = _LOCATION
    if documentation.response is not None:
        content = _content(schemas.of(documentation.response), documentation.response_example)
        response["content"] = dict.fromkeys(documentation.media_types, content)
    return response


def _content(schema: Schema, example: object) -> JsonValue:
    return {"schema": schema} if example is None else {"schema": schema, "example": cast(JsonValue, example)}


def _problems(route: Route) -> dict[str, JsonValue]:
    codes: dict[str, int] = {**_ALWAYS, **route.documentation.errors}
    codes |= _WITH_SESSION if route.permission is not None else {}
    codes |= _WITH_CHANGE if route.permission is not None and route.method != "GET" else {}
    codes |= _WITHOUT_TENANTS if route.permission is not None and not route.serves_tenants else {}
    codes |= _WITH_QUERY if route.documentation.query else {}
    codes |= _WITH_BODY if route.documentation.body is not None else {}
    return {str(status): _problem(status, _with_status(codes, status)) for status in sorted(set(codes.values()))}


def _with_status(codes: Mapping[str, int], wanted: int) -> list[str]:
    return [code for code, status in codes.items() if status == wanted]


def _problem(status: int, codes: list[str]) -> JsonValue:
    problem: dict[str, JsonValue] = {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}",
        CODES: list(codes),
        "content": {PROBLEM: {"schema": {"$ref": REF_TEMPLATE.format(model="Problem")}}},
    }
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        problem["headers"] = _RETRY_AFTER
    return problem
