"""Following the log over HTTP: every entry comes once, whatever commits when."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import psycopg
import pytest

from svc_pg.audit.read import settled_stretch
from svc_pg.console import Console
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.pages import all_data
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

CONFIG = audited("t")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key)", CONFIG)


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=database))) as client:
        client.headers.update(bearer("read"))
        yield client


def ask(client: httpx.Client, after: str, **query: Any) -> tuple[list[str], str]:
    """The records of a page, and the cursor after it."""
    response = client.get("/audit/entries", params={"resource": "t", "after": after, **query})
    assert response.status_code == 200, response.text
    page = response.json()
    assert page["prevCursor"] is None
    return [entry["recordId"] for entry in page["data"]], page["nextCursor"]


def read(client: httpx.Client, cursor: str, **query: Any) -> tuple[list[str], str]:
    """The records of all pages until an empty one, and the cursor after them."""
    records: list[str] = []
    while True:
        more, cursor = ask(client, cursor, **query)
        if not more:
            return records, cursor
        records += more


def insert(conn: psycopg.Connection[Any], key: int) -> None:
    conn.execute("insert into t values (%s)", [key])


def test_an_entry_that_is_committed_late_comes_once_and_after_nothing_is_lost(
    client: httpx.Client, database: str
) -> None:
    with psycopg.connect(database) as slow, psycopg.connect(database, autocommit=True) as quick:
        insert(quick, 0)
        assert ask(client, "start")[0] == ["0"]
        insert(slow, 1)
        seen, cursor = ask(client, "now")
        assert seen == []
        insert(quick, 2)
        insert(slow, 3)
        assert client.get("/audit/entries?resource=t&fields=recordId").json()["data"][0]["recordId"] == "2"
        seen, cursor = ask(client, cursor)
        assert seen == []  # 1 and 3 would come too late
        slow.commit()
        seen, cursor = ask(client, cursor, fields="recordId", limit=2)
        assert seen == ["1", "2"]
        insert(quick, 4)
        assert ask(client, cursor, limit=1000)[0] == ["3"]
        assert read(client, cursor)[0] == ["3", "4"]
        assert read(client, "start")[0] == ["0", "1", "2", "3", "4"]


def test_many_writers_that_commit_in_any_order_lose_and_repeat_nothing(
    client: httpx.Client, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settled_stretch, "_STEP", 2)  # transactions that are looked at together
    monkeypatch.setattr(settled_stretch, "_GROWTH", 1)
    chance = random.Random(5)
    followed = [(after, list[str](), after) for after in ("start", "now")]
    followed[1] = ("now", [], ask(client, "now")[1])
    key = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(psycopg.connect(database)) for _ in range(4)]
        for _ in range(60):
            writer = chance.choice(writers)
            insert(writer, key)
            key += 1
            if chance.random() < 0.5:
                chance.choice([writer.commit, writer.commit, writer.rollback])()
            for n, (name, seen, cursor) in enumerate(followed):
                if chance.random() < 0.5:
                    more, cursor = ask(client, cursor, limit=chance.randint(1, 4))
                    followed[n] = (name, seen + more, cursor)
        for writer in writers:
            writer.commit()
    wanted = sorted(entry["recordId"] for entry in all_data(client, "/audit/entries", resource="t", fields="recordId"))
    for _, seen, cursor in followed:
        rest, _ = read(client, cursor, limit=3)
        assert sorted(seen + rest) == wanted


def test_a_log_that_was_restored_is_followed_on(client: httpx.Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as conn:
        for key in range(3):
            insert(conn, key)
        _, cursor = ask(client, "start")
        _, inside = ask(client, "start", limit=1)
        # as a restore does: the epoch's name is computed anew
        conn.execute("alter table svc.audit_epoch drop column here")
        conn.execute(
            "alter table svc.audit_epoch"
            " add column here jsonb not null generated always as (svc.audit_new_epoch()) stored"
        )
        conn.execute("select svc.audit_begin_epoch()")
        for key in range(3, 6):
            insert(conn, key)
    assert read(client, cursor, limit=2)[0] == ["3", "4", "5"]
    # in the middle of a page's stretch, entries may come twice, and none is lost
    assert read(client, inside, limit=2)[0] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize(
    "after", ["", "x", "WyIwMTIzNDU2Nzg5YWIuMSIsICIiLCAiIl0", "WyIiLCAiIiwgIngiXQ", "WyIiLCAieC45IiwgIngiXQ"]
)
def test_a_cursor_of_another_log_is_422(client: httpx.Client, after: str) -> None:
    assert_problem(client.get("/audit/entries", params={"after": after}), 422, "invalid_parameter")
