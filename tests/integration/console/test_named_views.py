"""Named views over HTTP: a person's own are theirs alone, those of the team are everybody's who sees all tenants."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg.console import Console
from svc_pg.console.http import tokens
from svc_pg.console.views.named_views import LISTS, LONGEST_NAME, MOST_OF_ONE
from svc_pg.questions.reading import MOST_CHARACTERS
from svc_pg.settings import Permission
from tests.integration.console.browsing import HOSTILE
from tests.integration.console.serving import PREFIX, assert_problem, serving_installed, settings
from tests.integration.console.signing_in import rows
from tests.support.hooks import KEYS_TEXT
from tests.support.postgres import new_database

EVERYBODY: dict[str, Permission] = {"ann": "admin", "wim": "write", "rob": "read", "rita": "read"}
FAR: datetime = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture(scope="module")
def serving(installed: str) -> Iterator[httpx.Client]:
    def of_host(request: Any) -> tokens.Session | None:
        """The application's own users, by a header, as a trusted proxy would tell them."""
        name = request.headers.get("x-user", "")
        if not name:
            return None
        who, _, tenant = name.partition("@")
        permissions: tuple[Permission, ...] = ("read", "write", "admin")
        most = permissions.index(EVERYBODY.get(who, "read"))
        return tokens.Session(name, f"{who}@corp.example", permissions[: most + 1], FAR, tenant or None)

    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, session_of=of_host)) as client:
        yield client


@pytest.fixture
def client(serving: httpx.Client, installed: str) -> httpx.Client:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("delete from svc.console_views")
    return serving


def by(name: str) -> dict[str, str]:
    return {"X-User": name}


def keep(client: httpx.Client, who: str, name: str = "Failed", path: str = "own-views", **body: str) -> dict[str, Any]:
    sent = {"of": "deliveries", "name": name, "question": "status:failed today"} | body
    answer = client.post(f"/account/{path}", json=sent, headers=by(who))
    assert answer.status_code == 201, answer.text
    assert client.get(answer.headers["location"].removeprefix(PREFIX), headers=by(who)).json() == answer.json()
    kept: dict[str, Any] = answer.json()
    return kept


def names(client: httpx.Client, who: str, **query: str) -> list[str]:
    answer = client.get("/account/views", params=query, headers=by(who))
    assert answer.status_code == 200, answer.text
    return [view["name"] for view in answer.json()["data"]]


def test_a_view_is_kept_found_changed_and_deleted(client: httpx.Client) -> None:
    kept = keep(client, "rob")
    assert (kept["of"], kept["question"], kept["isOfTeam"]) == ("deliveries", "status:failed today", False)
    keep(client, "rob", "All of Mara", of="audit", question="actor:mara")
    assert names(client, "rob") == ["All of Mara", "Failed"]
    assert names(client, "rob", of="audit") == names(client, "rob", text="mAR") == ["All of Mara"]
    change = {"name": "Failed lately", "question": "status:failed 24h"}
    answer = client.patch(f"/account/own-views/{kept['id']}", json=change, headers=by("rob"))
    assert answer.json() | change == answer.json()
    assert client.get(f"/account/views/{kept['id']}", headers=by("rob")).json() == answer.json()
    assert client.patch(f"/account/own-views/{kept['id']}", json={}, headers=by("rob")).json() == answer.json()
    assert client.delete(f"/account/own-views/{kept['id']}", headers=by("rob")).status_code == 204
    assert names(client, "rob") == ["All of Mara"]
    assert_problem(client.delete(f"/account/own-views/{kept['id']}", headers=by("rob")), 404, "unknown_view")


@pytest.mark.parametrize("other", ["rita", "wim", "ann"])
def test_nobody_else_reads_renames_or_deletes_an_own_view_not_even_an_administrator(
    client: httpx.Client, installed: str, other: str
) -> None:
    kept = keep(client, "rob")
    before = rows(installed, "select v::text from svc.console_views v")
    assert names(client, other) == []
    for path in ("views", "own-views"):
        at = f"/account/{path}/{kept['id']}"
        if path == "views":
            assert_problem(client.get(at, headers=by(other)), 404, "unknown_view")
        refused = [client.patch(at, json={"name": "Mine"}, headers=by(other)), client.delete(at, headers=by(other))]
        for answer in refused:
            if path == "views" and other == "rita":
                assert_problem(answer, 403, "insufficient_scope")
            else:
                assert_problem(answer, 404, "unknown_view")
    assert rows(installed, "select v::text from svc.console_views v") == before


def test_only_who_may_write_makes_a_view_of_the_team_which_all_read_and_events_tell(
    client: httpx.Client, installed: str
) -> None:
    body = {"of": "audit", "name": "Grave", "question": "severity:critical"}
    assert_problem(client.post("/account/views", json=body, headers=by("rob")), 403, "insufficient_scope")
    with psycopg.connect(installed, autocommit=True) as conn:
        last = conn.execute("select coalesce(max(id), 0) from svc.console_events").fetchone()
    kept = keep(client, "wim", "Grave", "views", of="audit", question="severity:critical")
    assert names(client, "rob") == names(client, "ann") == ["Grave"]
    at = f"/account/views/{kept['id']}"
    for answer in (client.patch(at, json={"name": "x"}, headers=by("rob")), client.delete(at, headers=by("rob"))):
        assert_problem(answer, 403, "insufficient_scope")
    for answer in (
        client.patch(f"/account/own-views/{kept['id']}", json={"name": "x"}, headers=by("wim")),
        client.delete(f"/account/own-views/{kept['id']}", headers=by("wim")),
    ):
        assert_problem(answer, 404, "unknown_view")
    assert client.patch(at, json={"name": "Gravest"}, headers=by("ann")).status_code == 200
    assert client.delete(at, headers=by("ann")).status_code == 204
    keep(client, "wim", "Own")
    assert last is not None
    told = rows(installed, "select id, event, email, detail from svc.console_events order by id")
    events = [event for number, *event in told if number > last[0] and str(event[0]).startswith("view")]
    assert events == [
        ["view_added", "wim@corp.example", "audit Grave: severity:critical"],
        ["view_changed", "ann@corp.example", "audit Grave: severity:critical -> Gravest: severity:critical"],
        ["view_deleted", "ann@corp.example", "audit Gravest: severity:critical"],
    ]


def test_a_session_of_one_tenant_has_no_views(client: httpx.Client) -> None:
    kept = keep(client, "wim", "Team", "views")
    calls = [client.get("/account/views", headers=by("ann@acme"))]
    for path in ("views", "own-views"):
        body = {"of": "deliveries", "name": "x", "question": "status:failed"}
        calls.append(client.post(f"/account/{path}", json=body, headers=by("ann@acme")))
        at = f"/account/{path}/{kept['id']}"
        calls += [client.patch(at, json={"name": "x"}, headers=by("ann@acme"))]
        calls += [client.delete(at, headers=by("ann@acme"))]
    for answer in calls:
        assert_problem(answer, 403, "not_for_tenants")
    found = client.get("/account/suggestions", params={"q": "Team"}, headers=by("ann@acme")).json()
    assert "view" not in {each["kind"] for each in found["data"]}


def test_a_program_has_no_view_of_its_own_and_reads_those_of_the_team(client: httpx.Client) -> None:
    made = client.post("/account/tokens", json={"name": f"t{uuid4()}", "permission": "write"}, headers=by("ann"))
    bearing = {"Authorization": f"Bearer {made.json()['token']}"}
    body = {"of": "deliveries", "name": "Nightly", "question": "status:failed"}
    assert_problem(client.post("/account/own-views", json=body, headers=bearing), 403, "people_only")
    kept = client.post("/account/views", json=body, headers=bearing)
    assert kept.status_code == 201
    keep(client, "rob", "Own")
    assert [view["name"] for view in client.get("/account/views", headers=bearing).json()["data"]] == ["Nightly"]
    at = f"/account/own-views/{kept.json()['id']}"
    for answer in (client.patch(at, json={"name": "x"}, headers=bearing), client.delete(at, headers=bearing)):
        assert_problem(answer, 404, "unknown_view")


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\u2028b", "\u0007", "a" * (LONGEST_NAME + 1), "a\0b", 7])
def test_an_impossible_name_is_refused(client: httpx.Client, name: object) -> None:
    body = {"of": "deliveries", "name": name, "question": "status:failed"}
    assert_problem(client.post("/account/own-views", json=body, headers=by("rob")), 422, "invalid_body")
    kept = keep(client, "rob")
    answer = client.patch(f"/account/own-views/{kept['id']}", json={"name": name}, headers=by("rob"))
    assert_problem(answer, 422, "invalid_body")


@pytest.mark.parametrize("of", LISTS)
def test_a_question_that_its_list_cannot_read_is_refused(client: httpx.Client, of: str) -> None:
    for question in ("no-such-key:1", '"open', "status:", "since:never", "a\0b", " "):
        body = {"of": of, "name": "x", "question": question}
        assert_problem(client.post("/account/own-views", json=body, headers=by("rob")), 422, "invalid_question")


def test_an_impossible_name_and_a_question_that_cannot_be_read_are_told_together(client: httpx.Client) -> None:
    wrong = {"name": "a" * (LONGEST_NAME + 1), "question": "no-such-key:1"}
    kept = keep(client, "rob")
    for answer in (
        client.post("/account/own-views", json={"of": "deliveries", **wrong}, headers=by("rob")),
        client.patch(f"/account/own-views/{kept['id']}", json=wrong, headers=by("rob")),
    ):
        assert_problem(answer, 422, "invalid_body")
        assert [each["pointer"] for each in answer.json()["errors"]] == ["/name", "/question"]


def test_a_long_or_an_enormous_question_is_refused(client: httpx.Client) -> None:
    fits = "event:" + "e" * (MOST_CHARACTERS - 6)
    kept = keep(client, "rob", question=fits)
    assert kept["question"] == fits
    for question, status, code in (
        ("event:" + "e" * (MOST_CHARACTERS - 5), 422, "invalid_body"),
        ("e" * 900_000, 422, "invalid_body"),
        ("e" * 1_100_000, 413, "body_too_large"),
    ):
        body = {"of": "deliveries", "name": "Long", "question": question}
        assert_problem(client.post("/account/own-views", json=body, headers=by("rob")), status, code)
        answer = client.patch(f"/account/own-views/{kept['id']}", json={"question": question}, headers=by("rob"))
        assert_problem(answer, status, code)


def test_a_name_is_one_of_its_list_and_its_owner(client: httpx.Client) -> None:
    keep(client, "rob")
    body = {"of": "deliveries", "name": "Failed", "question": "status:failed"}
    assert_problem(client.post("/account/own-views", json=body, headers=by("rob")), 409, "view_exists")
    other = keep(client, "rob", "Other")
    answer = client.patch(f"/account/own-views/{other['id']}", json={"name": "Failed"}, headers=by("rob"))
    assert_problem(answer, 409, "view_exists")
    keep(client, "rita")
    keep(client, "rob", of="messages", question="event:order.paid")
    keep(client, "wim", path="views")
    for hostile in (text[:LONGEST_NAME].strip() for text in HOSTILE):
        assert keep(client, "rob", hostile)["name"] == hostile


def test_nobody_has_more_views_than_the_bound_also_at_the_same_moment(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute(
            "select svc.console_add_view(gen_random_uuid(), 'audit', 'rob@corp.example', 'v' || n, 'actor:mara')"
            " from generate_series(1, %s) n",
            [MOST_OF_ONE - 1],
        )

    def add(number: int) -> int:
        body = {"of": "audit", "name": f"late {number}", "question": "actor:mara"}
        return client.post("/account/own-views", json=body, headers=by("rob")).status_code

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(add, range(3))) == [201, 409, 409]
    body = {"of": "audit", "name": "one more", "question": "actor:mara"}
    assert_problem(client.post("/account/own-views", json=body, headers=by("rob")), 409, "too_many_views")
    assert rows(installed, "select count(*) from svc.console_views") == [(MOST_OF_ONE,)]
    keep(client, "rita")
    keep(client, "wim", path="views")


def test_of_two_renames_at_once_one_is_told_of_the_other(client: httpx.Client) -> None:
    kept = keep(client, "wim", path="views")
    at = f"/account/views/{kept['id']}"
    seen = client.get(at, headers=by("wim")).headers["etag"]

    def rename(who: str) -> int:
        return client.patch(at, json={"name": f"by {who}"}, headers=by(who) | {"If-Match": seen}).status_code

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(rename, ("wim", "ann"))) == [200, 412]


def test_ten_thousand_views_come_page_by_page(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute(
            "insert into svc.console_views (id, list, owner, name, question, created_by, updated_by)"
            " select gen_random_uuid(), 'deliveries', case when n % 2 = 0 then 'p' || n end, 'v' || n, 'status:failed',"
            " 'x', 'x' from generate_series(1, 10000) n"
        )
    page = client.get("/account/views", params={"limit": "1000"}, headers=by("rob")).json()
    assert len(page["data"]) == 1000
    assert all(view["isOfTeam"] for view in page["data"])
    after = client.get("/account/views", params={"cursor": page["nextCursor"]}, headers=by("rob")).json()
    assert page["data"][-1]["name"] < after["data"][0]["name"]
    before = client.get("/account/views", params={"before": after["prevCursor"], "limit": "5"}, headers=by("rob"))
    assert before.json()["data"] == page["data"][-5:]
    assert_problem(client.get("/account/views", params={"limit": "1001"}, headers=by("rob")), 422, "invalid_parameter")


def test_a_view_whose_question_reads_no_longer_comes_with_its_problem(client: httpx.Client, installed: str) -> None:
    kept = keep(client, "rob")
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("update svc.console_views set question = 'gone-key:7'")
    [view] = client.get("/account/views", headers=by("rob")).json()["data"]
    assert view["problem"].startswith("There is no key gone-key.")
    answer = client.patch(f"/account/own-views/{kept['id']}", json={"name": "Renamed"}, headers=by("rob"))
    assert (answer.status_code, answer.json()["problem"]) == (200, view["problem"])


def test_the_palette_finds_views_by_name_and_nobody_elses(client: httpx.Client) -> None:
    keep(client, "rob", "Unpaid and failed")
    keep(client, "wim", "Failed of all", "views")

    def found(who: str) -> list[tuple[str, str]]:
        answer = client.get("/account/suggestions", params={"q": "fAILED"}, headers=by(who)).json()
        return [(each["label"], each["address"]) for each in answer["data"] if each["kind"] == "view"]

    address = "/ui/deliveries?q=status%3Afailed+today"
    assert found("rob") == [("Failed of all", address), ("Unpaid and failed", address)]
    assert found("ann") == [("Failed of all", address)]


@pytest.mark.parametrize("view_id", ["x", "0", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10", "%00", "a%2Fb"])
def test_an_unknown_id_is_not_found(client: httpx.Client, view_id: str) -> None:
    for path in ("views", "own-views"):
        at = f"/account/{path}/{view_id}"
        answers = [client.patch(at, json={"name": "x"}, headers=by("wim")), client.delete(at, headers=by("wim"))]
        for answer in answers + ([client.get(at, headers=by("wim"))] if path == "views" else []):
            assert_problem(answer, 404, "unknown_view")


def test_the_table_refuses_what_no_view_is(installed: str) -> None:
    for values in (
        ("'tenants'", "'a'", "'x'", "'q'"),
        ("'audit'", "''", "'x'", "'q'"),
        ("'audit'", "null", "' x'", "'q'"),
        ("'audit'", "null", "''", "'q'"),
        ("'audit'", "null", "'x'", "''"),
        ("'audit'", "null", "repeat('x', 61)", "'q'"),
        ("'audit'", "null", "'x'", "repeat('x', 2001)"),
    ):
        with psycopg.connect(installed) as conn, pytest.raises(psycopg.errors.CheckViolation):
            conn.execute(
                "insert into svc.console_views (id, list, owner, name, question, created_by, updated_by)"
                f" values (gen_random_uuid(), {', '.join(values)}, 'x', 'x')"
            )
