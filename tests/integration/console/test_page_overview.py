"""The overview: what is wrong comes first, with the way to it; nothing is told about what is not there."""

import re
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from svc_pg.console import Console
from tests.integration.console.browsing import HOSTILE, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.postgres import new_database

_ENDPOINTS = """
insert into svc.webhook_endpoints (id, url, description, events, secret, status, disabled_reason)
select ('01900000-0000-7000-8000-00000000000' || n)::uuid, 'https://host' || n || '.example/in?token=hidden', name,
       '{*}', 'x', case n when 3 then 'disabled' when 2 then 'paused' else 'active' end,
       case n when 3 then 'it answered 410 Gone' end
  from unnest(%s::text[]) with ordinality as t(name, n);
"""
_FAILING = """
insert into svc.webhook_endpoint_state (endpoint_id, failure_streak, failing_since, breaker_until, last_failure)
values ('01900000-0000-7000-8000-000000000001', 41, now() - interval '200 min', now() + interval '74 s',
        'the endpoint answered 503')
"""
_DELIVERIES = """
with made as (
    select (left(svc.uuid7_at(now() - n * interval '13 min')::text, 24) || lpad(to_hex(n), 12, '0'))::uuid as id, n,
           now() - n * interval '13 min' as at, n % 4 > 0 as is_ok
      from generate_series(1, 60) n
), sent as (
    insert into svc.webhook_messages (id, event_name, payload, created_at) select id, 'order.paid', '{}', at from made
), delivered as (
    insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, status, attempts, max_attempts,
                                        next_attempt_at, finished_at, failure, created_at)
    select id, id, '01900000-0000-7000-8000-000000000001', 'order.paid',
           case when is_ok then 'delivered' else 'failed' end, 1, 8, null, at, case when not is_ok then 'failed' end, at
      from made
)
insert into svc.webhook_delivery_attempts (delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome)
select id, '01900000-0000-7000-8000-000000000001', 1, at, 100 + n, case when is_ok then 'success' else 'timeout' end
  from made
"""
_ENTRIES = """
insert into svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, label, severity)
select 'public.' || (array['orders', 'orders', 'note'])[1 + n %% 3], 0, 'UPDATE', n::text,
       case when n <> 10 then %s end, %s,
       case when n %% 10 = 0 then 'critical' when n > 20 and n %% 2 = 0 then 'medium' end::svc.audit_severity
  from generate_series(1, 30) n
"""


@pytest.fixture(scope="module")
def empty(postgres: str, template: str) -> Iterator[httpx.Client]:
    with (
        new_database(postgres, template=template) as conninfo,
        serving_installed(Console(settings(database_url=conninfo))) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def busy(postgres: str, template: str) -> Iterator[httpx.Client]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(_ENDPOINTS, (["Acme ERP", "", HOSTILE[1]],))
            conn.execute(_FAILING)
            conn.execute(_DELIVERIES)
            conn.execute(_ENTRIES, (HOSTILE[0], HOSTILE[2]))
        with serving_installed(Console(settings(database_url=conninfo))) as client:
            yield client


def test_an_empty_database_is_told_what_to_do_next(empty: httpx.Client) -> None:
    page = signed_in(empty, "read").get("")
    assert (page.status_code, page.url.path.partition("/ui")[2]) == (200, "/overview")
    assert_strict(page.text)
    assert "There is no endpoint yet: add one, then send an event." in page.text
    assert "svc-pg webhooks add" in page.text
    assert "Nothing of medium severity or higher" in page.text
    for absent in ("Endpoints that need you", "<svg viewBox", 'class="note'):
        assert absent not in page.text


def test_the_worst_problem_comes_first_and_leads_to_its_endpoint(busy: httpx.Client) -> None:
    page = signed_in(busy, "read").get("/overview")
    assert_strict(page.text)
    note = page.text.partition('class="note bad"')[2].partition("</div>")[0]
    assert "<bdi>Acme ERP</bdi>\nbegan to fail" in note
    assert "3 hr ago" in note
    assert "The endpoint answered 503, 41 times in a row</bdi>; 15 deliveries have no attempt left" in note
    rows = page.text.partition("Endpoints that need you")[2].partition("</table>")[0]
    states = [state for state in ("Held back", "Paused", "Disabled") if state in rows]
    assert states == ["Held back", "Paused", "Disabled"]
    assert "host2.example" in rows, "an endpoint without a description is called by its host"
    assert "It answered 410 Gone" in rows
    assert "hidden" not in page.text.replace("aria-hidden", "").replace(" hidden", "").replace("?hidden", "")


def test_the_most_severe_changes_come_first_however_many_follow_them(busy: httpx.Client) -> None:
    page = signed_in(busy, "read").get("/overview")
    rows = page.text.partition("Changes worth a look")[2].partition("</table>")[0]
    found = re.findall("Critical|High|Medium", rows.partition("<tbody>")[2])
    assert found == ["Critical"] * 3 + ["Medium"] * 3
    assert rows.count("no actor") == 1, "the user of the database stands in its place"


def test_charts_have_their_numbers_in_tables(busy: httpx.Client) -> None:
    for window, name in (("1h", "Deliveries by minute"), ("24h", "Deliveries by hour"), ("7d", "Deliveries by day")):
        page = signed_in(busy, "read").get(f"/overview?window={window}")
        assert (page.status_code, name in page.text) == (200, True)
        document = Document(page.text)
        drawings = [tag for name, tag in document.tags if name == "svg" and tag.get("role") == "img"]
        assert all(tag["aria-label"] for tag in drawings)
        assert page.text.count("Data as a table") == 2
        assert_strict(page.text)
    table = page.text.partition('aria-label="Deliveries by day"')[2].partition("</table>")[0]
    numbers = [int(text.partition("<")[0]) for text in table.split('<td class="num">')[1:]]
    assert sum(numbers) == 60


def test_what_others_wrote_stays_text(busy: httpx.Client) -> None:
    text = signed_in(busy, "admin").get("/overview").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<img src=x" not in text
    assert "{{7*7}}" in text


def test_no_period_is_a_day_and_an_unknown_one_is_refused(busy: httpx.Client) -> None:
    page = signed_in(busy, "read").get("/overview?window=")
    assert (page.status_code, "compared with" in page.text) == (200, True)
    for window in ("9y", "<x>", "24h&window=7d"):
        assert signed_in(busy, "read").get(f"/overview?window={window}").status_code == 422


def test_the_overview_without_a_database_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its halves are asked for at a time, and fail together."""
    monkeypatch.setattr("svc_pg.console.database.pool.POOL_TIMEOUT_SECONDS", 0.2)
    with serving_installed(Console(settings(database_url="host=127.0.0.1 port=9"))) as client:
        client.timeout = httpx.Timeout(30)
        page = signed_in(client, "read").get("/overview")
    assert (page.status_code, "The database does not answer" in page.text) == (503, True)
