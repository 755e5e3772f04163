"""Lists of commands that a page does not fill, because it looks at so many rows: they go on with the next page."""

import json
import re
from typing import Any, LiteralString

import psycopg
import pytest
from typer.testing import CliRunner

from cli import lists
from cli.app import app
from cli.lists import MOST_PAGES
from svc_pg import webhooks
from svc_pg.audit.read import stretch
from svc_pg.database import stretches
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import Prepare

CONFIG = hooks_config("order.created", "order.paid")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook")


@pytest.mark.parametrize("of", ["deliveries", "messages"])
def test_a_list_goes_on_until_it_is_full_or_ends(database: str, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", 4)
    with psycopg.connect(database) as conn:
        for name in ("order.paid", *["order.created"] * 9, "order.paid"):
            webhooks.send(conn, name, {}, tenant="acme")

    def listed(event: str, *options: str) -> Any:
        arguments = ["webhooks", of, "--event", event, "--tenant", "acme", "--database-url", database, *options]
        return CliRunner().invoke(app, arguments)

    assert [each["eventName"] for each in json.loads(listed("order.paid", "--json").stdout)["data"]] == [
        "order.paid"
    ] * 2
    assert "There are more" not in listed("order.paid").stderr
    assert "There are more" in listed("order.paid", "--limit", "1").stderr
    nothing = listed("order.other").stderr
    assert f"No {of}." in nothing
    assert "There are more" not in nothing


@pytest.mark.parametrize("of", ["deliveries", "messages"])
def test_a_list_of_a_rare_event_says_how_far_it_looked_and_goes_on_there(
    database: str, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setattr(stretches, "MOST_ROWS", 4)
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.paid", {}, tenant="acme")
        webhooks.send_many(conn, "order.created", [{}] * 4 * (MOST_PAGES + 1), tenant="acme")

    def listed(*options: str) -> Any:
        arguments = ["webhooks", of, "--event", "order.paid", "--tenant", "acme", "--database-url", database, *options]
        return CliRunner().invoke(app, arguments)

    first = listed().stderr
    assert f"Nothing found up to here. A command looks at up to 100,000 {of} at a time." in first
    [cursor] = re.findall(r"--after (\S+)", first)
    assert [each["eventName"] for each in json.loads(listed("--json", "--after", cursor).stdout)["data"]] == [
        "order.paid"
    ]


_GROW: LiteralString = """
insert into svc.audit_logs (table_name, table_oid, operation, record_id, after_data, label, timestamp)
select 'public.shop', 0, 'INSERT', n::text, '{}', case n when 1 then 'rare' end,
       now() - interval '1 h' + n * interval '1 ms'
  from generate_series(1, %s) n
"""


def test_the_log_says_how_far_it_looked_for_a_rare_label_and_goes_on_there(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MOST_PAGES", 1)
    with psycopg.connect(database) as conn:
        conn.execute(_GROW, [stretch.MAX_ENTRIES + 10])

    def listed(*options: str) -> Any:
        return CliRunner().invoke(app, ["log", "--database-url", database, *options])

    for way in ([], ["--json"]):
        first = listed("--label", "rare", *way)
        assert (first.exit_code, first.stdout) == (0, "")
        assert "Nothing found up to here. A command looks at up to 10,000 entries at a time." in first.stderr
        [cursor] = re.findall(r"--after (\S+)", first.stderr)
    rest = listed("--label", "rare", "--json", "--after", cursor)
    assert json.loads(rest.stdout)["recordId"] == "1"
    assert rest.stderr == ""
    assert listed("--table", "shop", "--limit", "2").stderr == ""
    assert listed("--follow", "--after", cursor).exit_code == 2
