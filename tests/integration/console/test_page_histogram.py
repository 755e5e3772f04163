"""The histogram of the audit log: each bar leads to the entries that it counts."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from svc_pg import Config
from svc_pg.audit.read import facets
from svc_pg.console import Console
from tests.integration.console.browsing import Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.t")
WRITE = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, actor_id)
select now() - n * interval '1 hour', 'public.t', 0, 'UPDATE', n::text, case when n < 3 then 'mara' end
  from generate_series(1, 100) n
"""


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table t (id int primary key)", CONFIG)
        with psycopg.connect(conninfo) as conn:
            conn.execute(WRITE)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def bars(page: httpx.Response) -> list[str]:
    """The addresses of the bars in the drawing, from the oldest."""
    drawing = page.text.partition('<section class="card hist"')[2].partition("</section>")[0]
    return [tag[1]["href"] or "" for tag in Document(drawing).tags if tag[0] == "a"]


def test_each_bar_leads_to_its_part_of_the_range(client: httpx.Client, reader: Browser) -> None:
    page = reader.get("/audit?resource=public.t&view=rows&cursor=")
    assert_strict(page.text)
    assert "entries by 2 hours" in page.text
    found = [parse_qs(urlsplit(address).query) for address in bars(page)]
    assert len(found) == 50
    assert all(each["resource"] == ["public.t"] and each["view"] == ["rows"] for each in found)
    assert all(before["until"] == after["since"] for before, after in pairwise(found))
    counted = 0
    for each in found[:2] + found[-2:]:
        query = {"resource": "public.t", "since": each["since"][0], "until": each["until"][0]}
        counted += len(client.get("/audit/entries", params=query, headers=bearer("read")).json()["data"])
    assert counted == 8


def test_the_first_and_the_last_bar_keep_the_range_that_was_asked_for(reader: Browser) -> None:
    found = [parse_qs(urlsplit(address).query) for address in bars(reader.get("/audit?since=50h&until=10h"))]
    assert found[0]["since"] == ["50h"]
    assert found[-1]["until"] == ["10h"]


def test_entries_of_one_moment_need_no_histogram(reader: Browser) -> None:
    assert bars(reader.get("/audit?actor=nobody")) == []
    assert bars(reader.get("/audit?record=5")) == []


def test_only_the_newest_entries_are_counted_and_the_page_says_so(
    client: httpx.Client, reader: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "MAX_ENTRIES", 10)
    answer = client.get("/audit/facets", headers=bearer("read")).json()
    assert (answer["entries"], answer["isComplete"]) == (10, False)
    assert sum(each["entries"] for each in answer["times"]) == 10
    assert client.get("/audit/stats", headers=bearer("read")).json()["entries"] >= 100
    page = reader.get("/audit?since=365d")
    assert "of the newest 10,000 alone" in page.text
    assert parse_qs(urlsplit(bars(page)[0]).query)["since"] != ["365d"], "older ones are not in this bar"
    assert 2 <= len(bars(page)) <= 60
    assert drawn(page)["data-since"] == ""


def test_facets_that_are_not_asked_for_are_not_counted(client: httpx.Client) -> None:
    def counted(*names: str) -> tuple[list[str], int]:
        found = client.get("/audit/facets", params=[("facet", name) for name in names], headers=bearer("read")).json()
        assert found["entries"] >= 100
        return [each["name"] for each in found["facets"]], sum(each["entries"] for each in found["times"])

    entries = client.get("/audit/facets", headers=bearer("read")).json()["entries"]
    assert counted("time") == ([], entries)
    assert counted("label", "resource") == (["resource", "label"], 0)
    assert counted("compliance") == (["compliance"], 0)
    assert counted("actor", "time") == (["actor"], entries)
    assert client.get("/audit/facets?facet=nothing", headers=bearer("read")).status_code == 422


def drawn(page: httpx.Response) -> dict[str, str | None]:
    """The numbers of the drawing that the script has, by which it makes the address of a range of bars."""
    [brush] = [attributes for _, attributes in Document(page.text).tags if "data-brush" in attributes]
    return brush


def test_a_range_of_bars_has_the_times_of_its_ends(reader: Browser) -> None:
    page = reader.get("/audit?resource=public.t&view=rows&cursor=")
    brush, found = drawn(page), [parse_qs(urlsplit(address).query) for address in bars(page)]
    begin = datetime.fromisoformat(brush["data-begin"] or "")
    step = timedelta(seconds=int(brush["data-step"] or ""))
    counts = [int(count) for count in (brush["data-counts"] or "").split(",")]
    assert sum(counts) == 100
    assert datetime.fromisoformat(found[0]["since"][0]) == begin
    assert datetime.fromisoformat(found[-1]["until"][0]) == begin + len(counts) * step
    whole = parse_qs(urlsplit(brush["data-brush"] or "").query)
    assert whole == {"resource": ["public.t"], "view": ["rows"]}
    assert (brush["data-since"], brush["data-until"]) == ("", "")
    asked = drawn(reader.get("/audit?since=50h&until=10h"))
    assert (asked["data-since"], asked["data-until"]) == ("50h", "10h")
