"""Clients that generators make of the OpenAPI document by their defaults, for an operator and for a customer."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.integration.console.client_server import Served, serving_clients
from tests.support.generators import python_programs, typescript_modules
from tests.support.postgres import new_database

CALLS: Final = 14
IN_PYTHON: Final = """
import json
import sys

from shop.api.audit_log import entries_facets, entries_list
from shop.api.webhooks import (
    deliveries_attempts,
    deliveries_get,
    deliveries_list,
    endpoints_create,
    endpoints_delete,
    endpoints_get,
    endpoints_list,
    endpoints_ping,
    endpoints_rotate_secret,
    endpoints_stats,
    endpoints_update,
    event_types_list,
    messages_list,
)
from shop.client import AuthenticatedClient
from shop.models import (
    CreateEndpointRequest,
    CreateEndpointRequestUrlby,
    Problem,
    RegisteredEndpoint,
    RotateSecretRequest,
    UpdateEndpointRequest,
)

found = []


def ask(route, *arguments, **more):
    answer = route.sync_detailed(*arguments, client=client, **more)
    code = answer.parsed.code if isinstance(answer.parsed, Problem) else None
    found.append([int(answer.status_code), code])
    return answer.parsed


with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2]) as client:
    ask(endpoints_list)
    made = ask(endpoints_create, body=CreateEndpointRequest(url="https://9.9.9.9/hook", events=["order.*"]))
    later = RegisteredEndpoint.from_dict({**made.to_dict(), "status": "quarantined", "addedLater": {"a": 1}})
    assert later.status == "quarantined"
    ask(endpoints_get, made.id)
    ask(endpoints_stats, made.id)
    ask(endpoints_update, made.id, body=UpdateEndpointRequest(description="Orders"))
    ping = ask(endpoints_ping, made.id)
    listed = ask(deliveries_list, endpoint_id=made.id)
    assert [each.id for each in listed.data] == [ping.id]
    ask(deliveries_get, ping.id)
    ask(deliveries_attempts, ping.id)
    ask(endpoints_rotate_secret, made.id, body=RotateSecretRequest())
    ask(messages_list)
    ask(event_types_list)
    ask(entries_list)
    ask(entries_facets)
    by = CreateEndpointRequestUrlby.OPERATOR
    ask(endpoints_create, body=CreateEndpointRequest(url="https://9.9.9.9/", events=["*"], url_by=by))
    ask(endpoints_delete, made.id)
    ask(endpoints_get, made.id)
print(json.dumps(found))
"""
IN_TYPESCRIPT: Final = """
declare const process: { argv: string[] }
import createClient from "openapi-fetch"
import type { components, paths } from "./shop.js"

const [baseUrl, token] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } })
const found: [number, string | null][] = []

type Answer<T> = { data?: T; error?: components["schemas"]["Problem"]; response: Response }

function noted<T>({ data, error, response }: Answer<T>): T {
    found.push([response.status, error ? error.code : null])
    return data as T
}

const body: components["schemas"]["CreateEndpointRequest"] = { url: "https://9.9.9.9/hook", events: ["order.*"] }
noted(await client.GET("/webhooks/endpoints"))
const { id } = noted(await client.POST("/webhooks/endpoints", { body }))
const params = { path: { id } }
const found_one = noted(await client.GET("/webhooks/endpoints/{id}", { params }))
const later: typeof found_one = { ...found_one, status: "quarantined" }
if (later.status !== "quarantined") throw new Error("a value of a later version")
noted(await client.GET("/webhooks/endpoints/{id}/stats", { params }))
noted(await client.PATCH("/webhooks/endpoints/{id}", { params, body: { description: "Orders" } }))
const ping = noted(await client.POST("/webhooks/endpoints/{id}/ping", { params }))
const listed = noted(await client.GET("/webhooks/deliveries", { params: { query: { endpointId: id } } }))
if (listed.data[0]?.id !== ping.id) throw new Error("another delivery")
const delivery = { params: { path: { id: ping.id } } }
noted(await client.GET("/webhooks/deliveries/{id}", delivery))
noted(await client.GET("/webhooks/deliveries/{id}/attempts", delivery))
noted(await client.POST("/webhooks/endpoints/{id}/rotate-secret", { params, body: {} }))
noted(await client.GET("/webhooks/messages"))
noted(await client.GET("/webhooks/event-types"))
noted(await client.GET("/audit/entries"))
noted(await client.GET("/audit/facets"))
noted(await client.POST("/webhooks/endpoints", { body: { ...body, urlBy: "operator" } }))
noted(await client.DELETE("/webhooks/endpoints/{id}", { params }))
noted(await client.GET("/webhooks/endpoints/{id}", { params }))
console.log(JSON.stringify(found))
"""
TYPESCRIPT_OPTIONS: Final = ("--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck")


@pytest.fixture(scope="module")
def served(postgres: str, template: str) -> Iterator[Served]:
    with new_database(postgres, template=template) as conninfo, serving_clients(conninfo) as served:
        yield served


def run(command: Sequence[str | Path], folder: Path, *, programs: Path | None = None) -> str:
    """The output of a command, which finds others in the folder ``programs`` first."""
    path = os.pathsep.join([*([] if programs is None else [str(programs)]), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python_client(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Sequence[str | Path]:
    folder, programs = tmp_path_factory.mktemp("python"), python_programs()
    (folder / "document.json").write_text(served.document, encoding="utf-8")
    (folder / "calls.py").write_text(IN_PYTHON, encoding="utf-8")
    options = ("--path", "document.json", "--output-path", "shop", "--meta", "none", "--fail-on-warning")
    run([programs / "openapi-python-client", "generate", *options], folder, programs=programs)
    run([programs / "python", "-m", "compileall", "-q", "shop"], folder)
    return [programs / "python", folder / "calls.py"]


@pytest.fixture(scope="module")
def typescript_client(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Sequence[str | Path]:
    folder, modules = tmp_path_factory.mktemp("typescript"), typescript_modules()
    (folder / "node_modules").symlink_to(modules)
    (folder / "package.json").write_text(json.dumps({"type": "module"}), encoding="utf-8")
    (folder / "document.json").write_text(served.document, encoding="utf-8")
    (folder / "calls.ts").write_text(IN_TYPESCRIPT, encoding="utf-8")
    run([modules / ".bin" / "openapi-typescript", "document.json", "-o", "shop.d.ts"], folder)
    run([modules / ".bin" / "tsc", *TYPESCRIPT_OPTIONS, "calls.ts"], folder)
    return ["node", folder / "calls.js"]


@pytest.mark.parametrize("language", ["python_client", "typescript_client"])
@pytest.mark.parametrize("who", ["operator", "customer"])
def test_a_generated_client_makes_the_usual_calls(
    served: Served, request: pytest.FixtureRequest, language: str, who: str, tmp_path: Path
) -> None:
    command = request.getfixturevalue(language)
    found: Any = json.loads(run([*command, served.base_url, served.tokens[who]], tmp_path))
    usual, (refused, gone, missing) = found[:CALLS], found[CALLS:]
    assert usual == [[200, None], [201, None], *([[200, None]] * 3), [202, None], *([[200, None]] * 8)]
    assert refused == ([201, None] if who == "operator" else [403, "not_for_tenants"])
    assert (gone, missing) == ([204, None], [404, "unknown_endpoint"])
