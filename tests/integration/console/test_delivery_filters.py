"""Each filter of deliveries selects the same rows in Python, in the HTTP API, on the command line and on the page."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import httpx
import psycopg
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from cli.app import app
from svc_pg import Config, webhooks
from svc_pg.console import Console
from svc_pg.database.filters import ListFilter, filters_of
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries import DeliveryFilter
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config
from tests.support.postgres import new_database

CONFIG: Final[Config] = hooks_config()
for each in ("order.created", "order.paid"):
    CONFIG.webhooks.event(each, search=["of"])
FILTERS: Final[Mapping[str, ListFilter]] = filters_of(DeliveryFilter)


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    """Eight deliveries: two events, two tenants and none, in four transactions, to two endpoints, in three states."""
    with new_database(postgres) as conninfo:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/all")
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/paid", events=["order.paid"])
        for event, tenant in (
            ("order.created", "acme"),
            ("order.paid", "acme"),
            ("order.paid", "other"),
            ("order.paid", None),
            ("order.created", "other"),
        ):
            with psycopg.connect(conninfo) as conn:
                webhooks.send(conn, event, {"of": tenant}, tenant=tenant)
        with psycopg.connect(conninfo) as conn:
            ids = [each.id for each in webhooks.deliveries.list(conn)]
            webhooks.deliveries.cancel(conn, ids[1])
            webhooks.deliveries.cancel(conn, ids[4])
            conn.execute("delete from svc.webhook_queue where delivery_id = %s", [ids[2]])
            conn.execute(
                "update svc.webhook_deliveries set status = 'failed', failure = 'failed', attempts = 2,"
                " finished_at = now(), next_attempt_at = null where id = %s",
                [ids[2]],
            )
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


@pytest.fixture(scope="module")
def browser(client: httpx.Client) -> Browser:
    return signed_in(client, "write")


@pytest.fixture(scope="module")
def values(installed: str) -> Mapping[str, Any]:
    """A value of each filter that some deliveries have, and others have not."""
    with psycopg.connect(installed) as conn:
        rows = webhooks.deliveries.list(conn).data
        middle = webhooks.deliveries.get(conn, rows[3].id)
    return {
        "status": "canceled",
        "endpoint": middle.endpoint_id,
        "message": middle.message_id,
        "event": middle.event_name,
        "tenant": middle.tenant,
        "payload": f"of={middle.tenant}",
        "transaction": int(middle.xact_id or 0),
        "since": middle.created_at,
        "until": middle.created_at,
        "ids": [rows[0].id, rows[5].id],
        "finished_since": rows[1].finished_at,
        "finished_until": rows[1].updated_at + timedelta(seconds=1),
    }


def with_endpoint(installed: str, given: dict[str, Any]) -> dict[str, Any]:
    """That of the newest canceled one, if the filter needs another beside it."""
    if not given.keys() & {"finished_since", "finished_until"}:
        return given
    with psycopg.connect(installed) as conn:
        newest = webhooks.deliveries.list(conn, status="canceled").data[0]
    return given | {"endpoint": newest.endpoint_id}


def written(value: Any) -> str:
    """A value as an address or an option has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return ",".join(value) if isinstance(value, list) else str(value)


def in_python(installed: str, given: Mapping[str, Any]) -> list[str]:
    with psycopg.connect(installed) as conn:
        return [each.id for each in webhooks.deliveries.list(conn, **given)]


def in_the_api(client: httpx.Client, given: Mapping[str, Any]) -> list[str]:
    query = {FILTERS[name].api: written(value) for name, value in given.items()}
    answer = client.get("/webhooks/deliveries", params=query, headers=bearer("read"))
    return [each["id"] for each in answer.json()["data"]]


def by_command(installed: str, given: Mapping[str, Any]) -> list[str]:
    options = [part for name, value in given.items() for part in ("--" + FILTERS[name].option, written(value))]
    command = ["webhooks", "deliveries", "--json", "--database-url", installed, *options]
    done = CliRunner().invoke(app, command, prog_name="svc-pg", catch_exceptions=False)
    return [each["id"] for each in json.loads(done.stdout)["data"]]


def on_the_page(browser: Browser, given: Mapping[str, Any]) -> list[str]:
    query = httpx.QueryParams({FILTERS[name].api: written(value) for name, value in given.items()})
    return re.findall(r'name="id" value="([0-9a-f-]{36})"', browser.get(f"/deliveries?{query}").text)


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_selects_the_same_deliveries_everywhere(
    installed: str, client: httpx.Client, browser: Browser, values: Mapping[str, Any], name: str
) -> None:
    given = with_endpoint(installed, {name: values[name]})
    found = in_python(installed, given)
    assert 0 < len(found) < len(in_python(installed, {})) == 8
    assert in_the_api(client, given) == by_command(installed, given) == on_the_page(browser, given) == found


def test_all_filters_together_select_the_same_deliveries_everywhere(
    installed: str, client: httpx.Client, browser: Browser, values: Mapping[str, Any]
) -> None:
    others = ("status", "ids", "until", "finished_since", "finished_until")  # which the one in the middle does not meet
    given = {name: values[name] for name in FILTERS if name not in others}
    found = in_python(installed, given)
    assert len(found) == 1
    assert in_the_api(client, given) == by_command(installed, given) == on_the_page(browser, given) == found


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_changes_as_many_deliveries_everywhere(
    installed: str, client: httpx.Client, browser: Browser, values: Mapping[str, Any], name: str
) -> None:
    given = with_endpoint(installed, {name: values[name]})
    with psycopg.connect(installed) as conn:
        retried = webhooks.deliveries.retry_all(conn, dry_run=True, **given).count
        canceled = webhooks.deliveries.cancel_all(conn, dry_run=True, **given).count
    sent = {FILTERS[each].api: value if each == "ids" else written(value) for each, value in given.items()}
    written_options = [part for each, value in given.items() for part in ("--" + FILTERS[each].option, written(value))]
    for change, count in (("retry", retried), ("cancel", canceled)):
        body = {**sent, "dryRun": True}
        answer = client.post(f"/webhooks/deliveries/{change}", json=body, headers=bearer("write"))
        assert answer.json() == {"count": count, "isComplete": True}
        options = [*written_options, "--dry-run", "--json", "--database-url", installed]
        done = CliRunner().invoke(app, ["webhooks", change, *options], prog_name="svc-pg", catch_exceptions=False)
        assert json.loads(done.stdout)["count"] == count
        query = httpx.QueryParams({"do": change} | {FILTERS[each].api: written(given[each]) for each in given})
        heading = re.search(r"<h1>(.*?)</h1>", browser.get(f"/deliveries/change?{query}").text)
        assert heading is not None
        assert re.findall(r"[0-9]+", heading[1]) == ([str(count)] if count else [])


@pytest.mark.parametrize("name", ["finished_since", "finished_until"])
@pytest.mark.parametrize("beside", [{}, {"event": "order.paid"}, {"tenant": "acme"}, {"status": "failed"}])
def test_the_end_alone_is_refused_everywhere_because_no_index_has_it(
    installed: str, client: httpx.Client, browser: Browser, name: str, beside: Mapping[str, str]
) -> None:
    given: dict[str, Any] = {name: timedelta(hours=1), **beside}
    with psycopg.connect(installed) as conn:
        for call in (webhooks.deliveries.list, webhooks.deliveries.count, webhooks.deliveries.retry_all):
            with pytest.raises(QueryError, match="no index has the end") as refused:
                call(conn, **given)
            assert "Name an endpoint too" in str(refused.value.hint)
    query = {FILTERS[each].api: "1h" if each == name else value for each, value in given.items()}
    for path in ("deliveries", "deliveries/counts"):
        counted = {each: value for each, value in query.items() if path == "deliveries" or each != "status"}
        answer = client.get(f"/webhooks/{path}", params=counted, headers=bearer("read"))
        assert (answer.status_code, "Name an endpoint too" in answer.text) == (422, True)
    for change in ("retry", "cancel"):
        answer = client.post(f"/webhooks/deliveries/{change}", json=query, headers=bearer("write"))
        assert (answer.status_code, "Name an endpoint too" in answer.text) == (422, True)
    assert browser.get(f"/deliveries?{httpx.QueryParams(query)}").status_code == 422
    options = [part for each in given for part in ("--" + FILTERS[each].option, query[FILTERS[each].api])]
    for command in ("deliveries", "retry"):
        arguments = ["webhooks", command, *options, "--database-url", installed]
        done = CliRunner().invoke(app, arguments, prog_name="svc-pg")
        assert done.exit_code != 0


def test_a_filter_that_is_not_known_is_refused_everywhere(
    installed: str, client: httpx.Client, browser: Browser
) -> None:
    with psycopg.connect(installed) as conn, pytest.raises(TypeError, match="'sicne' is no filter of this list"):
        webhooks.deliveries.list(conn, sicne="1h")  # type: ignore[call-arg]
    refused = client.get("/webhooks/deliveries?sicne=1h", headers=bearer("read"))
    assert (refused.status_code, "sicne is unknown; known are since" in refused.text) == (422, True)
    assert client.post("/webhooks/deliveries/retry", json={"sicne": "1h"}, headers=bearer("write")).status_code == 422
    assert CliRunner().invoke(app, ["webhooks", "deliveries", "--sicne", "1h"]).exit_code == 2
    assert browser.get("/deliveries?sicne=1h").status_code == 422
