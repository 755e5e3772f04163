"""The parts of a configuration, the differences of two, and the text of a revision."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from svc_pg import Config
from svc_pg.config import AuditConfig, AuditedTable, EventDefinition, OnChange, WebhooksConfig
from svc_pg.config.installed_parts import (
    READ_BY_PROGRAMS,
    Difference,
    config_of,
    document_of,
    json_of,
    parts_in,
    parts_of,
    reader_of,
)
from svc_pg.errors import ConfigError
from svc_pg.schema.configuration_change import ConfigurationChange
from svc_pg.schema.export.migration_texts import alembic_text, django_text
from svc_pg.schema.export.script import Script
from svc_pg.schema.revision_file import read_change

EVERYTHING = """
[audit]
unattributed = "refuse"
retention_days = 30
partitions = "day"
search = ["text"]
indexes = ["record", "time", "tenant"]

[audit.erasure]
"public.customer" = ["orders.customer_id"]

[[audit.tables]]
name = "customer"
redact = { "odd:% name" = "last4", email = "remove" }
max_value_bytes = 1000
record_when = { changed = "a", any = [{ after = { x = 1, y = { in = [1.5, "2"] } } }], not = { sql = "true" } }
enrich = [{ operation = "INSERT", label = '$svc$ "quoted" \\ \\u0024', compliance = ["gdpr"] }]

[[audit.tables]]
name = "public.*"
exclude = ["public.log*"]

[webhooks]
allow_http = true
proxy = "http://user:secret@proxy:3128"
retry = ["5s", "1h30m", "7d"]
keep_failed = "3d"

[webhooks.events."order.created"]
description = "100% :placed"
schema = { enum = [":a", 1.5] }

[webhooks.events."order.paid"]

[[webhooks.on_change]]
table = "orders"
operation = "INSERT"
event = "order.created"

[[webhooks.on_change]]
table = "orders"
operation = ["UPDATE"]
event = "order.paid"
payload = { was = "before.status" }
when = "after.status = 'paid'"

[grants]
read = ["app"]
"""


@pytest.fixture
def everything(tmp_path: Path) -> Config:
    path = tmp_path / "svc-pg.toml"
    path.write_text(EVERYTHING, encoding="utf-8")
    return Config.find(str(path))


def test_the_parts_are_those_that_an_install_reads(everything: Config) -> None:
    parts = parts_of(everything)
    assert parts["webhooks", "retry"] == ["5s", "90m", "7d"]
    assert [rule["event"] for rule in parts["webhooks", "on_change", "public.orders"]] == [
        "order.created",
        "order.paid",
    ]
    assert [path[-1] for path in parts if path[:2] == ("audit", "tables")] == ["public.customer", "public.*"]
    assert "secret" not in json_of(parts)
    again = config_of(parts, source="test")
    assert parts_of(again) == parts
    assert (again.audit, again.grants) == (everything.audit, everything.grants)
    assert again.webhooks.change_events == everything.webhooks.change_events


def test_a_document_has_no_dollars_by_which_a_script_could_end(everything: Config) -> None:
    assert "$" not in json_of(parts_of(everything))


def test_an_empty_configuration_has_no_parts() -> None:
    assert parts_of(Config()) == {}


def test_the_defaults_that_a_revision_leaves_out_stay() -> None:
    """Another default would install something else than a revision of before says.

    To change one, let ConfigurationChange give the old one to revisions of versions before.
    """
    table = AuditedTable(name="x").model_dump(mode="json", by_alias=True)
    assert table == {
        "name": "public.x",
        "exclude": [],
        "level": "row",
        "key": [],
        "title": None,
        "redact": {},
        "columns": None,
        "ignore": [],
        "record_when": None,
        "max_value_bytes": None,
        "on_drift": "mask_all",
        "on_error": "raise",
        "cascades": "recorded",
        "replica": False,
        "record_reads": False,
        "retention_days": None,
        "enrich": [],
    }
    assert Config().audit.model_dump(mode="json", by_alias=True) == {
        "unattributed": "record",
        "unrecorded_reads": "refuse",
        "ddl": False,
        "reconcile": None,
        "retention_days": None,
        "partitions": "month",
        "search": [],
        "indexes": ["record", "time", "severity"],
        "tables": [],
        "erasure": {},
    }
    assert Config().webhooks.retry == "default"
    assert EventDefinition().model_dump(by_alias=True) == {"description": "", "schema": None, "search": []}
    rule = OnChange.model_validate({"table": "x", "operation": "INSERT", "event": "y"}).model_dump(by_alias=True)
    assert {key: value for key, value in rule.items() if key not in ("table", "operation", "event")} == {
        "columns": None,
        "when": None,
        "payload": None,
        "tenant": None,
        "key": None,
    }


PARTS = st.dictionaries(
    st.sampled_from([("audit", "tables", name) for name in "abc"] + [("webhooks", "retry"), ("grants", "read")]),
    st.sampled_from([{}, {"redact": {"x": "mask"}}, ["a"]]),
)


@given(PARTS, PARTS)
def test_a_difference_leads_from_one_to_the_other_and_back(one: dict[Any, Any], other: dict[Any, Any]) -> None:
    difference = Difference.between(one, other)
    assert difference.applied_to(one) == other
    assert difference.applied_to(other) == other
    assert difference.reversed().applied_to(other) == one
    assert parts_in(document_of(difference.after)) == difference.after


@given(PARTS, PARTS, PARTS)
def test_two_differences_give_the_same_in_either_order_or_are_refused(
    base: dict[Any, Any], left: dict[Any, Any], right: dict[Any, Any]
) -> None:
    one, other = Difference.between(base, left), Difference.between(base, right)
    clash = [path for path in {**left, **right, **base} if _is_changed_twice(path, base, left, right)]
    if clash:
        with pytest.raises(
            ConfigError, match=f"{'.'.join(clash[0])}.* is neither as before this revision nor as after"
        ):
            other.applied_to(one.applied_to(base))
    else:
        assert other.applied_to(one.applied_to(base)) == one.applied_to(other.applied_to(base))


def _is_changed_twice(path: Any, base: Any, left: Any, right: Any) -> bool:
    values = [each.get(path) for each in (base, left, right)]
    return values[0] not in values[1:] and values[1] != values[2]


@pytest.mark.parametrize("before", [None, {}])
def test_the_file_of_a_revision_says_what_it_changes(everything: Config, tmp_path: Path, before: Any) -> None:
    change = ConfigurationChange(23, before, document_of(parts_of(everything)), prune=True, roles=False)
    script = Script("", "", [], made_for="abc", change=change)
    texts = {
        "alembic": alembic_text(script, revision="two", down_revision="one"),
        "django": django_text(script, dependencies=[("shop", "0001_initial")]),
    }
    for name, text in texts.items():
        file = tmp_path / f"{name}.py"
        file.write_text(text, encoding="utf-8")
        ast.parse(text)
        assert max(map(len, text.splitlines())) < 120
        assert read_change(file) == change


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def upgrade(:", "not a Python file"),
        ("x = 1", "0 calls that install svc-pg, in place of one"),
        ("schema.up(op, version=1, before={}, after=open('x'))", "is not as svc-pg writes it"),
        ("schema.up(op, version=1, before={}, after=AFTER)", "is not as svc-pg writes it"),
        ("schema.up(op, version=1, before={}, after={}, other=1)", "is not as svc-pg writes it"),
        ("other.up(op, version=1)", "0 calls that install svc-pg, in place of one"),
        ("schema.up(op, version=1, before={}, after={})\\nschema.up(op, version=1, before={}, after={})", "2 calls"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "revision.py"
    file.write_text(text.replace("\\n", "\n"), encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_change(file)


def test_a_program_on_another_database_loads_no_psycopg() -> None:
    program = "import sys, svc_pg.schema; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_each_key_has_its_reader(everything: Config) -> None:
    models: dict[str, type[BaseModel]] = {
        "audit": AuditConfig,
        "audit.tables": AuditedTable,
        "webhooks": WebhooksConfig,
    }
    keys = {
        section: [field.alias or name for name, field in model.model_fields.items()]
        for section, model in models.items()
    }
    assert {name: {*named} - {*keys[name]} for name, named in READ_BY_PROGRAMS.items()} == {
        name: set() for name in models
    }
    found = {(section, key): reader_of(section, key) for section in models for key in keys[section]}
    assert [path for path, reader in found.items() if reader == "programs"] == [
        ("audit", "reconcile"),
        *(("webhooks", key) for key in ("allow_http", "allow_cidrs", "allow_for_customers", "proxy")),
        *(("webhooks", key) for key in ("keep_delivered", "keep_failed")),
    ]
    given, kept = everything.webhooks, config_of(parts_of(everything), source="the parts").webhooks
    lost = {key for key in WebhooksConfig.model_fields if getattr(kept, key) != getattr(given, key)}
    assert lost == {"allow_http", "proxy", "keep_failed"}, "what programs alone read is in no revision"
    assert {reader_of("webhooks", key) for key in lost} == {"programs"}
    assert [reader_of("audit.tables.enrich", "when"), reader_of("", "products")] == ["install", "install"]
