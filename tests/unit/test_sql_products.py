"""Each migration, function and view of webhooks is known as such, so that an install can leave it out."""

import re
from pathlib import Path

import pytest

from svc_pg.database.sql_products import is_made_for_webhooks, is_table_of_webhooks
from svc_pg.database.sqlstates import translate
from svc_pg.errors import NotInstalledError
from svc_pg.schema.postgres.migrations import OF_WEBHOOKS, released
from svc_pg.schema.status import Status

SQL = Path(__file__).parents[2] / "sql"
ELSEWHERE = ("audit", "capture", "console", "views")


def code(text: str) -> str:
    """The text without comments, literals and what is left out without webhooks."""
    without = re.sub(r"{% if has_webhooks %}.*?{% endif %}", "", text, flags=re.DOTALL)
    return re.sub(r"--.*|'(?:[^']|'')*'", "", without)


def test_a_migration_is_of_webhooks_or_names_none_of_their_tables() -> None:
    for migration in released():
        names = re.findall(r"svc\.(\w+)", code(migration.sql))
        of_webhooks = [name for name in names if is_table_of_webhooks(name)]
        assert bool(of_webhooks) == (migration.number in OF_WEBHOOKS), f"{migration}: see OF_WEBHOOKS"
        assert not of_webhooks or of_webhooks == names, f"{migration} is of both products: write two"


@pytest.mark.parametrize("folder", ELSEWHERE)
def test_no_object_elsewhere_needs_one_of_webhooks(folder: str) -> None:
    for file in sorted(SQL.joinpath(folder).iterdir()):
        if file.name.startswith("webhook_"):
            continue
        names = re.findall(r"svc\.(\w+)", code(file.read_text(encoding="utf-8")))
        assert [name for name in names if is_table_of_webhooks(name) or is_made_for_webhooks(name)] == [], file.name


def test_an_object_of_webhooks_is_known_by_its_name() -> None:
    of_webhooks = ("svc.webhook_claim", "svc.send(text, jsonb)", "svc.send_many", "svc.webhook_portal_link")
    assert all(Status("function", identity, "ok", "").is_of_webhooks for identity in of_webhooks)
    assert Status("view", "svc.webhook_endpoint_health", "ok", "").is_of_webhooks
    assert not Status("trigger", "t on svc.webhook_endpoints", "ok", "", "svc.webhook_endpoints").is_of_webhooks
    assert not Status("function", "svc.audit_guard", "ok", "").is_of_webhooks


def test_what_is_left_out_is_not_removed_as_an_old_function_is() -> None:
    assert not Status("function", "svc.send(text)", "orphan", "").needs_prune
    assert Status("function", "svc.send(text)", "orphan", "", is_left_out=True).needs_prune


@pytest.mark.parametrize(
    ("state", "message", "words"),
    [
        ("42883", "function svc.send(unknown, unknown) does not exist", "no webhooks of svc-pg"),
        ("42883", 'function "svc".webhook_claim(text) does not exist', "no webhooks of svc-pg"),
        ("42P01", 'relation "svc.webhook_endpoints" does not exist', "no webhooks of svc-pg"),
        ("42P01", 'relation "svc.audit_logs" does not exist', "no svc-pg"),
        ("42883", "function svc.erase(text) does not exist", "no svc-pg"),
    ],
)
def test_an_object_of_webhooks_that_is_missing_is_told_as_such(state: str, message: str, words: str) -> None:
    class DriverError(Exception):
        sqlstate = state

    assert isinstance(found := translate(DriverError(message)), NotInstalledError)
    assert words in found.message
