"""Each limit is told before it is reached: by the answers of every route whose document has a 429."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import Console, register_tenants
from svc_pg.console.http.quotas import CALLS, CODES, PINGS, POLLS, SIGN_INS, Limit
from tests.integration.console.serving import PREFIX, assert_problem, bearer, serving_installed, settings
from tests.integration.console.signing_in import Device, Mailbox, new_address, new_ip, wrong
from tests.support.documents import ROOT
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.postgres import Prepare

DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
LIMITED = [
    (method, path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if method != "parameters" and "429" in operation["responses"]
]
SIGN_IN = "/console/session/"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """An endpoint of a tenant."""

    def prepare(conninfo: str) -> None:
        endpoint(conninfo, hooks_config("order.placed"), "http://127.0.0.1:9/", tenant="acme")

    return prepare


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[httpx.Client]:
    console = Console(settings(database_url=shared_database, encryption_keys=SecretStr(KEYS_TEXT)))
    register_tenants(console)
    with serving_installed(console) as client:
        yield client


def program(client: httpx.Client, **body: str) -> dict[str, str]:
    """The header of a new program."""
    made = client.post("/account/tokens", json={"permission": "admin"} | body, headers=bearer("admin"))
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['token']}"}


def left(answer: httpx.Response, limit: Limit) -> tuple[int, int]:
    """The calls that the answer says are left of a limit, and the seconds until its window ends."""
    assert limit.policy in answer.headers["ratelimit-policy"].split(", ")
    found = re.search(rf'(?:^|, )"{limit.name}";r=(\d+);t=(\d+)(?:$|, )', answer.headers["ratelimit"])
    assert found is not None, answer.headers["ratelimit"]
    assert 0 < int(found[2]) <= limit.seconds
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(("method", "path", "operation"), LIMITED, ids=lambda value: str(value)[:60])
def test_the_document_of_a_route_that_refuses_too_many_calls_has_the_headers_of_its_limit(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    for status, response in operation["responses"].items():
        if status == "429" or status.startswith("2"):
            assert {"RateLimit", "RateLimit-Policy"} <= set(response["headers"]), (method, path, status)


def test_every_route_of_them_tells_the_calls_that_are_left(client: httpx.Client) -> None:
    header = program(client, name="walks")
    untold = []
    for method, path, _ in LIMITED:
        below = re.sub(r"\{[^}]+\}", "7", path).removeprefix(PREFIX)
        if not below.startswith(SIGN_IN):
            with client.stream(method.upper(), below, headers=header) as answer:
                if not answer.headers.get("ratelimit", "").startswith('"calls";r='):
                    untold.append((method, below, answer.status_code))
    assert untold == []
    assert {path.removeprefix(PREFIX) for _, path, _ in LIMITED if SIGN_IN in path} == {
        f"{SIGN_IN}{name}" for name in ("init", "verify", "poll")
    }


def test_the_pings_of_a_tenants_endpoint_are_told_until_they_are_refused(
    client: httpx.Client, shared_database: str
) -> None:
    added = client.post("/tenant/tenants", json={"id": "acme", "name": "Acme"}, headers=bearer("admin"))
    assert added.status_code == 201, added.text
    header = program(client, name="pings", tenant="acme")
    with psycopg.connect(shared_database) as conn:
        [(endpoint_id,)] = conn.execute("select id from svc.webhook_endpoints where tenant = 'acme'").fetchall()
    path = f"/webhooks/endpoints/{endpoint_id}/ping"
    answers = [client.post(path, headers=header) for _ in range(PINGS.most)]
    assert {answer.status_code for answer in answers} == {202}
    assert [left(answer, PINGS)[0] for answer in answers] == [4, 3, 2, 1, 0]
    assert left(answers[-1], CALLS)[0] == CALLS.most - PINGS.most
    refused = client.post(path, headers=header)
    assert_problem(refused, 429, "rate_limited")
    assert left(refused, PINGS) == (0, int(refused.headers["retry-after"]))
    operator = client.post(path, headers=program(client, name="operates"))
    assert operator.status_code == 202
    assert "pings" not in operator.headers["ratelimit"], "an operator has no such limit"


def test_a_sign_in_tells_what_is_left_of_the_wider_network_too(magic: httpx.Client, console_database: str) -> None:
    own = "2001:db8:7:"
    with psycopg.connect(console_database) as conn:
        for _ in range(98):
            conn.execute(
                "select svc.console_hit('init from around ' || svc.console_network(%s, 48), 100, '15 min')",
                [f"{own}1::1"],
            )
    first, second, refused = (Device(magic, new_address(), ip=f"{own}{number}::1").begun for number in (1, 2, 3))
    assert left(first, SIGN_INS)[0] == 1
    assert left(second, SIGN_INS)[0] == 0
    assert_problem(refused, 429, "rate_limited")


def test_a_sign_in_tells_what_is_left_of_each_of_its_steps(magic: httpx.Client, mailbox: Mailbox) -> None:
    ip, email = new_ip(), new_address()
    device = Device(magic, email, ip=ip)
    assert left(device.begun, SIGN_INS) == (9, SIGN_INS.seconds)
    assert left(device.poll(), POLLS) == (0, 2)
    again = device.poll()
    assert_problem(again, 429, "slow_down")
    assert left(again, POLLS) == (0, int(again.headers["retry-after"]))
    code = mailbox.code(email)
    assert left(device.verify(wrong(code)), CODES)[0] == CODES.most - 1
    assert left(device.verify(code), CODES)[0] == CODES.most - 2
    known = device.claim().json()["knownDevice"]
    assert left(Device(magic, new_address(), ip=ip).begun, SIGN_INS)[0] == 8
    body = {"email": email, "knownDevice": known}
    of_device = magic.post("/console/session/init", json=body, headers={"X-Forwarded-For": ip})
    assert left(of_device, SIGN_INS)[0] == 9, "a known device has limits of its own"


def test_refused_sign_ins_and_codes_tell_when_they_may_go_on(magic: httpx.Client, console_database: str) -> None:
    ip = new_ip()
    device = Device(magic, new_address(), ip=ip)
    with psycopg.connect(console_database) as conn:
        conn.execute("update svc.console_rate set hits = 10 where key = %s", (f"init from {ip}",))
        key, window = f"verify from {ip}", "5 min"
        conn.execute("insert into svc.console_rate values (%s, 30, now() + %s::interval)", (key, window))
    for answer, limit in ((Device(magic, new_address(), ip=ip).begun, SIGN_INS), (device.verify("AAAAAA"), CODES)):
        assert_problem(answer, 429, "rate_limited")
        assert left(answer, limit) == (0, int(answer.headers["retry-after"]))


def test_an_address_that_may_not_sign_in_is_told_the_same(magic: httpx.Client) -> None:
    allowed, other = (Device(magic, email, ip=new_ip()).begun for email in (new_address(), "x@elsewhere.example"))
    assert allowed.headers["ratelimit"] == other.headers["ratelimit"]


def test_a_sign_in_that_is_unknown_tells_no_limit(magic: httpx.Client) -> None:
    device = Device(magic, new_address())
    device.bearer = {"Authorization": "Bearer nobody's"}
    assert "ratelimit" not in device.verify("AAAAAA").headers
    assert "ratelimit" not in device.poll().headers


@pytest.mark.parametrize(
    ("limit", "function", "counted"),
    [
        (CALLS, "console_session", "console_hit('calls of ' || l.id, {most}, '{minutes} min')"),
        (CALLS, "console_token", "console_hit('calls of ' || l.id, {most}, '{minutes} min')"),
        (SIGN_INS, "console_init", "console_hit('init from ' || svc.console_network(p_ip), {most}, '{minutes} min')"),
        (SIGN_INS, "console_init", "console_hit('init of ' || p_device, {most}, '{minutes} min')"),
        (CODES, "console_verify", "console_hit('verify from ' || svc.console_network(p_ip), {most}, '{minutes} min')"),
    ],
)
def test_the_functions_count_by_the_limits_that_are_told(limit: Limit, function: str, counted: str) -> None:
    text = (ROOT / "sql" / "console" / f"{function}.sql").read_text(encoding="utf-8")
    assert counted.format(most=limit.most, minutes=limit.seconds // 60) in text
