"""The committed document is the contract with integrators: what would break a client of it fails here by its name."""

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from svc_pg.console.published_document import published_document, published_text
from tests.support.contract_changes import breaking_changes

COMMITTED: Final = Path("docs/openapi.json")
UPDATE: Final = "SVC_TEST_UPDATE_SNAPSHOTS"
BREAK: Final = "SVC_TEST_BREAK_CONTRACT"
IS_RENEWED: Final = bool(os.environ.get(UPDATE))  # read here, because tests of the console have no such variables
MAY_BREAK: Final = bool(os.environ.get(BREAK))
ENDPOINTS: Final = "/webhooks/endpoints"
MADE: Final[Any] = published_document()


def test_the_committed_document_breaks_no_client_and_is_that_of_the_program() -> None:
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    broken = breaking_changes(committed, MADE)
    if broken and not MAY_BREAK:
        wanted = f"If that is wanted, give it another API_DATE, and renew {COMMITTED} with {BREAK}=1 and {UPDATE}=1."
        pytest.fail("\n".join([*broken, wanted]))
    assert not broken or committed["info"]["version"] != MADE["info"]["version"], "give it another API_DATE"
    if IS_RENEWED:
        COMMITTED.write_text(published_text(), encoding="utf-8")
    assert COMMITTED.read_text(encoding="utf-8") == published_text(), f"renew it with {UPDATE}=1"


def changed(change: Callable[[Any], object]) -> list[str]:
    """The sentences about a document that differs from ours by one change."""
    later = copy.deepcopy(MADE)
    change(later)
    return breaking_changes(MADE, later)


def endpoints(document: Any, method: str = "get") -> Any:
    return document["paths"][ENDPOINTS][method]


def schema(document: Any, name: str) -> Any:
    return document["components"]["schemas"][name]


def parameter(document: Any, name: str) -> Any:
    return next(each for each in endpoints(document)["parameters"] if each["name"] == name)


def without(names: list[str], name: str) -> None:
    names.remove(name)


ALLOWED: Final[dict[str, Callable[[Any], object]]] = {
    "nothing": lambda _: None,
    "an operation is new": lambda new: new["paths"].update({"/new": new["paths"]["/audit/stats"]}),
    "words change": lambda new: endpoints(new).update(summary="Others"),
    "a parameter is new": lambda new: endpoints(new)["parameters"].append(
        {"name": "colour", "in": "query", "required": False, "schema": {"type": "string"}}
    ),
    "an answer tells more": lambda new: schema(new, "Endpoint")["properties"].update(colour={"type": "string"}),
    "a text of an answer has another value": lambda new: schema(new, "Endpoint")["properties"]["status"][
        "x-extensible-enum"
    ].append("quarantined"),
    "a body takes more": lambda new: schema(new, "CreateEndpointRequest")["properties"].update(
        colour={"type": "string"}
    ),
    "a body may lack a property": lambda new: without(schema(new, "CreateEndpointRequest")["required"], "url"),
    "a limit is higher": lambda new: parameter(new, "limit")["schema"].update(maximum=5000),
    "a property is never null": lambda new: schema(new, "Endpoint")["properties"]["filter"].update(type="string"),
    "a whole number of a body may have a fraction": lambda new: schema(new, "CreateEndpointRequest")["properties"][
        "maxInFlight"
    ].update(type="number"),
    "a text of an answer has a form": lambda new: schema(new, "Tenant")["properties"]["name"].update(format="uuid"),
    "a problem is new": lambda new: endpoints(new)["responses"].update({"418": {"description": "teapot"}}),
}


@pytest.mark.parametrize("change", ALLOWED.values(), ids=ALLOWED.keys())
def test_a_change_that_clients_are_told_to_expect_breaks_nothing(change: Callable[[Any], object]) -> None:
    assert changed(change) == []


BREAKING: Final[dict[str, Callable[[Any], object]]] = {
    "GET /webhooks/endpoints is removed.": lambda new: new["paths"][ENDPOINTS].pop("get"),
    "GET /webhooks/endpoints: its name endpoints.list is now endpoints.all.": lambda new: endpoints(new).update(
        operationId="endpoints.all"
    ),
    "GET /webhooks/endpoints: it needs session admin, and needed session read.": lambda new: endpoints(new).update(
        security=[{"session": ["admin"]}]
    ),
    "GET /webhooks/endpoints: the parameter tenant of the query is removed.": lambda new: endpoints(new)[
        "parameters"
    ].remove(parameter(new, "tenant")),
    "GET /webhooks/endpoints: the parameter tenant of the query is now required.": lambda new: parameter(
        new, "tenant"
    ).update(required=True),
    "GET /webhooks/endpoints: the parameter limit of the query has maximum 10, and had 1000.": lambda new: parameter(
        new, "limit"
    )["schema"].update(maximum=10),
    "GET /webhooks/endpoints: the parameter tenant of the query no longer takes string.": lambda new: parameter(
        new, "tenant"
    )["schema"].update(type="integer"),
    "GET /webhooks/endpoints: the parameter status of the query no longer takes paused.": lambda new: without(
        parameter(new, "status")["schema"]["enum"], "paused"
    ),
    "GET /webhooks/endpoints: the property nextCursor of the answer is removed.": lambda new: endpoints(new)[
        "responses"
    ]["200"]["content"]["application/json"]["schema"]["properties"].pop("nextCursor"),
    "GET /webhooks/endpoints: the status 200 is removed.": lambda new: endpoints(new)["responses"].pop("200"),
    "GET /audit/export: the answer is no longer application/x-ndjson.": lambda new: new["paths"]["/audit/export"][
        "get"
    ]["responses"]["200"]["content"].pop("application/x-ndjson"),
    "POST /webhooks/endpoints: the header Location of the answer is removed.": lambda new: endpoints(new, "post")[
        "responses"
    ]["201"]["headers"].pop("Location"),
    "POST /webhooks/endpoints: the body no longer takes the property filter.": lambda new: schema(
        new, "CreateEndpointRequest"
    )["properties"].pop("filter"),
    "POST /webhooks/endpoints: the property tenant of the body is now required.": lambda new: schema(
        new, "CreateEndpointRequest"
    )["required"].append("tenant"),
    "POST /webhooks/endpoints: the property description of the body has maxLength 5, and had none.": lambda new: schema(
        new, "CreateEndpointRequest"
    )["properties"]["description"].update(maxLength=5),
    "POST /webhooks/endpoints: the property timeout of the body no longer takes number.": lambda new: schema(
        new, "CreateEndpointRequest"
    )["properties"]["timeout"].update(type="integer"),
    "GET /tenant/tenants/{id}: the property name of the answer may now be null.": lambda new: schema(new, "Tenant")[
        "properties"
    ]["name"].update(type=["string", "null"]),
    "GET /tenant/tenants/{id}: the property name of the answer may now be missing.": lambda new: without(
        schema(new, "Tenant")["required"], "name"
    ),
    "GET /tenant/tenants: the property name of an item of the property data of the answer is removed.": lambda new: (
        schema(new, "Tenant")["properties"].pop("name")
    ),
    "GET /tenant/tenants/{id}: the property createdAt of the answer may now be string.": lambda new: schema(
        new, "Tenant"
    )["properties"].update(createdAt={"type": "string"}),
    "POST /webhooks/endpoints/{id}/disable: the body is now required.": lambda new: new["paths"][
        "/webhooks/endpoints/{id}/disable"
    ]["post"]["requestBody"].update(required=True),
    "The webhook webhook.ping is removed.": lambda new: new["webhooks"].pop("webhook.ping"),
    "The webhook webhook.ping: the property endpointId of the property data of the body is removed.": lambda new: (
        schema(new, "PingData")["properties"].pop("endpointId")
    ),
}


@pytest.mark.parametrize(("sentence", "change"), BREAKING.items(), ids=BREAKING.keys())
def test_a_change_that_breaks_a_client_is_named(sentence: str, change: Callable[[Any], object]) -> None:
    assert sentence in changed(change)
