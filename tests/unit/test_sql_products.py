"""Each migration, function and view of a product is known as such, so that an install can leave it out."""

import re
from pathlib import Path

import pytest

from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.capture.postgres.triggers import capture_objects
from svc_pg.capture.rules import rules_for
from svc_pg.database.sql_products import is_table_of_webhooks, product_of
from svc_pg.database.sqlstates import translate
from svc_pg.errors import NotInstalledError
from svc_pg.schema.postgres.migrations import OF_WEBHOOKS, released
from svc_pg.schema.status import Status

SQL = Path(__file__).parents[2] / "sql"
OF_EVERY_LOG = ("console", "events", "log", "webhooks")
ELSEWHERE = ("audit", "capture", "console", "log", "views")
HANDLES = re.compile(r"if to_regprocedure\(.*?\bend if;", re.DOTALL)


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
        assert [name for name in names if is_table_of_webhooks(name) or product_of(name) == "webhooks"] == [], file.name


@pytest.mark.parametrize("folder", OF_EVERY_LOG)
def test_no_object_of_every_log_needs_one_of_the_audit_trail(folder: str) -> None:
    for file in sorted(SQL.joinpath(folder).iterdir()):
        names = re.findall(r"svc\.(\w+)", code(HANDLES.sub("", file.read_text(encoding="utf-8"))))
        assert [name for name in names if product_of(name) == "audit"] == [], file.name


def test_our_own_tables_are_recorded_without_the_audit_trail() -> None:
    made = [each for table, rules in OWN_TABLES for each in capture_objects(rules_for(table, rules))]
    names = [name for each in made for name in re.findall(r"svc\.(\w+)", code(each.sql))]
    assert "audit_image" in names
    assert [name for name in names if product_of(name) == "audit"] == []


def test_an_object_of_webhooks_is_known_by_its_name() -> None:
    of_webhooks = ("svc.webhook_claim", "svc.send(text, jsonb)", "svc.send_many", "svc.webhook_portal_link")
    assert {Status("function", identity, "ok", "").product for identity in of_webhooks} == {"webhooks"}
    assert Status("view", "svc.webhook_endpoint_health", "ok", "").product == "webhooks"
    assert Status("trigger", "t on svc.webhook_endpoints", "ok", "", "svc.webhook_endpoints").product is None
    assert Status("function", "svc.audit_guard", "ok", "").product is None
    assert Status("function", "svc.console_init", "ok", "").product is None


def test_an_object_of_the_audit_trail_is_known_by_its_name() -> None:
    of_audit = ("svc.erase", "svc.audit_blame", "svc.history", "svc.audit_on_ddl")
    assert {Status("function", identity, "ok", "").product for identity in of_audit} == {"audit"}
    assert Status("view", "svc.audit_changes", "ok", "").product == "audit"
    assert Status("view", "svc.audit_seal_lock", "ok", "").product is None


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
        ("42883", "function svc.audit_guard() does not exist", "an older schema of svc-pg"),
        ("42883", "function svc.erase(text) does not exist", "no audit trail of svc-pg"),
        ("42P01", 'relation "svc.audit_changes" does not exist', "no audit trail of svc-pg"),
    ],
)
def test_an_object_of_webhooks_that_is_missing_is_told_as_such(state: str, message: str, words: str) -> None:
    class DriverError(Exception):
        sqlstate = state

    assert isinstance(found := translate(DriverError(message)), NotInstalledError)
    assert words in found.message
