"""The headers by which programs find their way: the next page, the methods of a path, the version of the API."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.console import Console
from svc_pg.console.http.page_links import MOST_CHARACTERS
from svc_pg.console.http.quotas import MOST_CALLS
from svc_pg.console.openapi.document import API_DATE
from tests.integration.console.serving import ORIGIN, assert_problem, bearer, serving_installed, settings
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare

URL = "http://127.0.0.1:9/hook"
DELIVERIES = "/webhooks/deliveries"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Three deliveries, and an entry of the log about their endpoint."""

    def prepare(conninfo: str) -> None:
        endpoint(conninfo, hooks_config("order.created"), URL)
        with psycopg.connect(conninfo) as conn:
            webhooks.send_many(conn, "order.created", [{"n": number} for number in range(3)])

    return prepare


@pytest.fixture(scope="module")
def client(shared_database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=shared_database))) as client:
        client.headers.update(bearer("read"))
        yield client


def targets(response: httpx.Response) -> dict[str, str]:
    return {str(each["rel"]): str(each["url"]) for each in response.links.values()}


def test_the_links_of_a_list_lead_forth_and_back_through_its_pages_with_the_filters(client: httpx.Client) -> None:
    whole = [each["id"] for each in client.get(DELIVERIES).json()["data"]]
    first = client.get(DELIVERIES, params={"limit": 2, "status": "pending"})
    assert targets(first).keys() == {"next"}
    assert parse_qs(urlsplit(targets(first)["next"]).query)["status"] == ["pending"]
    second = client.get(httpx.URL(str(client.base_url)).join(targets(first)["next"]))
    assert [each["id"] for page in (first, second) for each in page.json()["data"]] == whole
    assert targets(second).keys() == {"prev"}
    back = client.get(httpx.URL(str(client.base_url)).join(targets(second)["prev"]))
    assert back.json()["data"] == first.json()["data"]


def test_a_list_of_one_page_has_no_links(client: httpx.Client) -> None:
    assert "link" not in client.get(DELIVERIES).headers


def test_the_link_of_a_log_that_is_followed_goes_on_following(client: httpx.Client) -> None:
    following = client.get("/audit/entries", params={"after": "start", "limit": 1})
    assert (
        targets(following)["next"]
        == f"/.well-known/svc/audit/entries?{httpx.QueryParams({'limit': 1, 'after': following.json()['nextCursor']})}"
    )


def test_a_link_that_would_be_too_long_for_a_header_is_left_out(client: httpx.Client) -> None:
    query: list[tuple[str, str | int | float | bool | None]] = [
        ("limit", "1"),
        *(("actor", f"{'a' * 300}{number}") for number in range(10)),
        ("missing", "actor"),
    ]
    assert len(str(httpx.QueryParams(query))) > MOST_CHARACTERS
    answer = client.get("/audit/entries", params=[*query, ("after", "start")])
    assert answer.json()["nextCursor"] is not None
    assert "link" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/webhooks/deliveries", "GET, OPTIONS"),
        ("PATCH", "/webhooks/endpoints/7", "DELETE, GET, OPTIONS, PATCH"),
        ("DELETE", "/console/health", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_on_a_known_path_is_told_the_right_ones(
    client: httpx.Client, method: str, path: str, allowed: str
) -> None:
    answer = client.request("PUT" if method == "PATCH" else method, path)
    assert_problem(answer, 404, "not_found")
    assert answer.headers["allow"] == allowed


def test_an_unknown_path_allows_nothing(client: httpx.Client) -> None:
    assert "allow" not in client.get("/webhooks/nothing").headers


@pytest.mark.parametrize("path", ["/console/health", "/console/openapi.json", DELIVERIES, "/nothing"])
def test_every_answer_names_the_version_of_the_document(client: httpx.Client, path: str) -> None:
    assert client.get(path).headers["svc-pg-version"] == API_DATE
    assert client.get("/console/openapi.json").json()["info"]["version"] == API_DATE


@pytest.fixture(scope="module")
def program(client: httpx.Client) -> dict[str, str]:
    """The header of a program, whose calls the database counts."""
    body = {"name": "counted", "permission": "read"}
    token = client.post("/account/tokens", json=body, headers=bearer("admin")).json()["token"]
    return {"Authorization": f"Bearer {token}"}


def test_each_answer_tells_the_calls_that_are_left_before_a_429(
    client: httpx.Client, program: dict[str, str], shared_database: str
) -> None:
    answers = [client.get(DELIVERIES, headers=program) for _ in range(3)]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {f'"calls";q={MOST_CALLS};w=60'}
    left = [re.fullmatch(r'"calls";r=(\d+);t=(\d+)', answer.headers["ratelimit"]) for answer in answers]
    assert [each and int(each[1]) for each in left] == [MOST_CALLS - 1, MOST_CALLS - 2, MOST_CALLS - 3]
    assert all(each and 0 < int(each[2]) <= 60 for each in left)
    assert client.get("/webhooks/deliveries/nothing", headers=program).headers["ratelimit"].startswith('"calls";r=596;')
    with psycopg.connect(shared_database) as conn:
        conn.execute("update svc.console_rate set hits = %s where key like 'calls of %%'", (MOST_CALLS,))
    refused = client.get(DELIVERIES, headers=program)
    assert_problem(refused, 429, "rate_limited")
    assert refused.headers["ratelimit"] == f'"calls";r=0;t={refused.headers["retry-after"]}'
    with psycopg.connect(shared_database) as conn:
        conn.execute("update svc.console_rate set ends_at = now() where key like 'calls of %%'")
    assert client.get(DELIVERIES, headers=program).headers["ratelimit"] == f'"calls";r={MOST_CALLS - 1};t=60'


def test_answers_to_calls_that_nobody_counts_tell_no_limit(client: httpx.Client) -> None:
    assert not {"ratelimit", "ratelimit-policy"} & client.get("/console/health").headers.keys()
    assert "ratelimit" not in client.get(DELIVERIES).headers, "auto-approved sessions are not stored, nor counted"


def test_a_page_of_an_allowed_origin_may_read_them(client: httpx.Client) -> None:
    exposed = client.get(DELIVERIES, headers={"Origin": ORIGIN}).headers["access-control-expose-headers"]
    assert {"Link", "Svc-Pg-Version", "Allow", "RateLimit", "RateLimit-Policy"} <= set(exposed.split(", "))
