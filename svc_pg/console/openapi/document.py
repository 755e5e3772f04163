"""Describe routes as an OpenAPI 3.1 document: https://spec.openapis.org/oas/v3.1.1."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, cast, get_args, get_origin

from pydantic import BaseModel, JsonValue

from svc_pg.console.http.documentation import Documentation, Parameter
from svc_pg.console.http.phrases import phrase_of
from svc_pg.console.http.products import Product
from svc_pg.console.http.repeated_calls import IDEMPOTENCY_KEY, REFUSED_REPETITION, REPLAYED
from svc_pg.console.openapi.headers import COUNTED, HEADERS, headers
from svc_pg.console.openapi.json_schema import Schema, Schemas, described_class
from svc_pg.console.openapi.problems import PROBLEM_SCHEMA, problems
from svc_pg.console.openapi.webhooks import webhooks
from svc_pg.database.pagination import Page
from svc_pg.settings import Permission
from svc_pg.webhooks.events.own_events import OwnEvent

API_DATE: Final = "2026-11-28"
"""The day of the last change of the API that could break a client: the version of the document, and a header."""
JSON: Final = "application/json"
EVENTS_TAG: Final = "Events"

_SESSION: Final = "session"
_DEVICE: Final = "device"
_SECURITY_SCHEMES: Final[Schema] = {
    _SESSION: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The token of a session, of a program (POST /account/tokens), or of the application's own.",
    },
    _DEVICE: {"type": "http", "scheme": "bearer", "description": "The deviceToken of the sign-in that is asked about."},
}
_PARAMETER: Final = re.compile(r"(?<=/):(\w+)")
_CONVENTIONS: Final = """\
Every answer has the headers `X-Request-Id` and `Svc-Pg-Version`, the version of this document. An error is a problem \
document (RFC 9457): decide by its `code`, and accept codes that you do not know. A list is a page: its `nextCursor` \
is the value of `cursor` for the next one, and the header `Link` has its address. Times are RFC 3339 in UTC, durations \
are seconds, and ids are texts. Later versions add members to answers, and values to those that `x-extensible-enum` \
lists: ignore the former, and accept the latter."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """One route of a document. ``path`` is below the server's, with parameters such as ``:id``.

    ``permission`` is None if no session is needed. Routes with one ``tag`` belong together. Sessions of one tenant are
    refused unless it ``serves_tenants``. One that ``keeps_answer`` takes an Idempotency-Key. ``product`` is its id, if
    it is of one.
    """

    method: str
    path: str
    documentation: Documentation
    tag: str
    permission: Permission | None = None
    serves_tenants: bool = False
    keeps_answer: bool = False
    product: str | None = None


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
            keeps_answer=endpoint.keeps_answer,
            product=product.id,
        )
        for endpoint in product.endpoints
    ]


def document(
    routes: Sequence[Route],
    *,
    title: str,
    server_url: str,
    tags: Mapping[str, str] | None = None,
    events: Sequence[OwnEvent] = (),
) -> dict[str, JsonValue]:
    """The document as a JSON value. ``tags`` has the descriptions of tags, ``events`` go to receivers of webhooks.

    Raises ConfigError if a response has a type that JSON lacks.
    """
    schemas = Schemas(_bodies(routes))
    schemas.components["Problem"] = dict(PROBLEM_SCHEMA)
    paths: dict[str, dict[str, JsonValue]] = {}
    for route in routes:
        paths.setdefault(_PARAMETER.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": API_DATE, "description": _CONVENTIONS},
        "servers": [{"url": server_url}],
        "tags": [_tag(tag, (tags or {}).get(tag, "")) for tag in dict.fromkeys(_tags(routes, events))],
        "paths": dict(paths),
        **({"webhooks": webhooks(events, schemas, tag=EVENTS_TAG)} if events else {}),
        "components": {
            "schemas": dict(schemas.components),
            "headers": HEADERS,
            "securitySchemes": dict(_SECURITY_SCHEMES),
        },
    }


def _tags(routes: Iterable[Route], events: Sequence[OwnEvent]) -> Iterable[str]:
    yield from (route.tag for route in routes)
    yield from [EVENTS_TAG] if events else []


def _tag(name: str, description: str) -> JsonValue:
    return {"name": name, "description": description} if description else {"name": name}


def _bodies(routes: Iterable[Route]) -> list[type[BaseModel]]:
    return list(dict.fromkeys(body for route in routes if (body := route.documentation.body) is not None))


def _operation(route: Route, schemas: Schemas) -> dict[str, JsonValue]:
    documentation = route.documentation
    operation: dict[str, JsonValue] = {
        "operationId": operation_id(route),
        "tags": [route.tag],
        "description": " ".join(filter(None, [documentation.description, _access(route)])),
        "security": _security(route),
        "parameters": [
            *(_parameter(parameter, position="path") for parameter in _path_parameters(route)),
            *(_parameter(parameter, position="query") for parameter in documentation.query),
            *(_parameter(parameter, position="header") for parameter in _headers(route)),
        ],
        "responses": {
            str(documentation.status): _success(route, schemas),
            **problems(
                documentation,
                more=REFUSED_REPETITION if route.keeps_answer else {},
                method=route.method,
                permission=route.permission,
                serves_tenants=route.serves_tenants,
            ),
        },
    }
    if documentation.summary:
        operation["summary"] = documentation.summary
    if documentation.body is not None:
        content = _content(schemas.of_body(documentation.body), documentation.body_example)
        is_required = any(field.is_required() for field in documentation.body.model_fields.values())
        operation["requestBody"] = {"required": is_required, "content": {JSON: content}}
    return operation


def operation_id(route: Route) -> str:
    """The name by which clients call the route."""
    if name := route.documentation.operation_id:
        return f"{name}_head" if route.method == "HEAD" else name
    words = re.findall(r"\w+", _PARAMETER.sub(r"by_\1", route.path))
    return "_".join([route.method.lower(), *words])


def _access(route: Route) -> str:
    if route.permission is None:
        return "Needs the token of a device." if route.documentation.needs_device_token else "Needs no session."
    serves = " A session of one tenant gets what is that tenant's." if route.serves_tenants else ""
    return f"Needs the permission {route.permission}.{serves}"


def _security(route: Route) -> JsonValue:
    if route.permission is not None:
        return [{_SESSION: [route.permission]}]  # a role, as 3.1 allows if a scheme has no scopes
    return [{_DEVICE: []}] if route.documentation.needs_device_token else []


def _headers(route: Route) -> Iterable[Parameter]:
    yield from route.documentation.headers
    if route.keeps_answer:
        yield IDEMPOTENCY_KEY


def _path_parameters(route: Route) -> Iterable[Parameter]:
    described = {parameter.name: parameter for parameter in route.documentation.path_parameters}
    for name in _PARAMETER.findall(route.path):
        yield described.get(name) or Parameter(name=name, description=f"The {name} of the resource.")


def _parameter(parameter: Parameter, *, position: Literal["path", "query", "header"]) -> JsonValue:
    in_path: Schema = {"minLength": 1} if position == "path" else {}
    return {
        "name": parameter.name,
        "in": position,
        "description": parameter.description,
        "required": parameter.is_required or position == "path",
        "schema": {**parameter.schema, **in_path},
    }


def _success(route: Route, schemas: Schemas) -> JsonValue:
    documentation = route.documentation
    phrase = phrase_of(documentation.status)
    response: dict[str, JsonValue] = {"description": f"{phrase}. {_words(documentation)}".strip()}
    names = [
        *(["Location"] if documentation.status == HTTPStatus.CREATED else []),
        *(["Link"] if get_origin(documentation.response) is Page else []),
        *([REPLAYED] if route.keeps_answer else []),
        *(COUNTED if route.permission is not None or 429 in documentation.errors.values() else []),
    ]
    if names:
        response["headers"] = headers(*names)
    if documentation.response is not None:
        content = _content(schemas.of(documentation.response), documentation.response_example)
        response["content"] = dict.fromkeys(documentation.media_types, content)
    return response


def _words(documentation: Documentation) -> str:
    """The answer in words: the first paragraph about its class, or about that of its items; else the summary."""
    if documentation.response is None:
        return "The answer has no body."
    found = _class(documentation.response)
    return described_class(found).split("\n\n")[0] if found is not None else f"{documentation.summary}."


def _class(annotation: Any) -> type[Any] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if hasattr(annotation, "__dataclass_fields__") else None
    return next((found for each in get_args(annotation) if (found := _class(each)) is not None), None)


def _content(schema: Schema, example: object) -> JsonValue:
    return {"schema": schema} if example is None else {"schema": schema, "example": cast(JsonValue, example)}
