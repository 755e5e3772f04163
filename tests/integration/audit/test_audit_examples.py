"""The examples of docs/audit.md, docs/export.md and README that read the log do what these say."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, audit, schema
from tests.support.documents import examples
from tests.support.tables import audited, create_and_audit

CUSTOMERS = "insert into customer select n, 'Ann' from generate_series(1, 60) n"


def test_the_documented_calls_read_and_export_the_log(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    create_and_audit(database, "create table customer (id int primary key, name text)", audited("customer"))
    [reading], [exporting] = examples("audit.md", "Read"), examples("export.md", "Choose entries")
    with psycopg.connect(database) as conn:
        with audit.actor(conn, "alice", tenant="acme"):
            conn.execute(CUSTOMERS)
        conn.commit()
        names = {"conn": conn}
        exec(reading, names)
        exec(exporting, names)
    assert len(capsys.readouterr().out.splitlines()) == 50
    assert len([*names["page"]]) == 10  # type: ignore[misc] # the page that the example made
    lines = (tmp_path / "customer.ndjson").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["actorId"] for line in lines} == {"alice"}
    assert len(lines) == 60


def test_the_first_example_of_the_readme_shows_who_changed_what(
    empty_database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")):
        monkeypatch.setenv(variable, str(conninfo_to_dict(empty_database)[name]))
    with psycopg.connect(empty_database) as conn:
        conn.execute("create table invoice (id int primary key, status text, card_number text)")
        conn.execute("insert into invoice values (7, 'open', '4111')")
    [example] = examples("README.md")
    exec(example, {})
    assert capsys.readouterr().out == "alice UPDATE 7 ['status']\n"


def test_the_documented_tenant_is_kept_beside_entries_and_messages(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = examples("howto/tenants.md")
    config = {"audit": {"tables": [{"name": "orders"}]}, "webhooks": {"events": {"order.paid": {}}}}
    for name, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")):
        monkeypatch.setenv(variable, str(conninfo_to_dict(database)[name]))
    with psycopg.connect() as conn:
        conn.execute("create table orders (id bigint primary key, status text)")
        conn.execute("insert into orders values (7, 'open')")
        conn.commit()
        schema.install(conn, Config.model_validate(config))
        names: dict[str, Any] = {"psycopg": psycopg}
        exec(example, names)
        assert [each.tenant_id for each in names["page"]] == ["acme"]
        assert conn.execute("select tenant from svc.webhook_messages").fetchall() == [("acme",)]
