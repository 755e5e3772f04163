"""Revisions in a project of Flask-Migrate, as its documentation sets it up."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from tests.support.commands import environment, svc_pg

APPLICATION = """
import os

from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["SHOP_URL"]
db = SQLAlchemy(app)


def include_name(name, type_, parent_names):
    if type_ == "schema":
        return name != "svc"
    return type_ != "table" or not name.startswith("svc_")


migrate = Migrate(app, db, include_schemas=True, include_name=include_name)


class Customer(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(100))
"""
CONFIG = """
[[audit.tables]]
name = "public.customer"
"""


def test_revisions_go_up_and_down_with_those_of_the_application(empty_database: str, tmp_path: Path) -> None:
    pytest.importorskip("flask_migrate")
    parts: dict[str, Any] = conninfo_to_dict(empty_database)
    url = "postgresql+psycopg://{user}@{host}:{port}/{dbname}".format(**parts)
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "svc-pg.toml").write_text(CONFIG, encoding="utf-8")

    def run(*command: str | Path) -> str:
        variables = environment(SHOP_URL=url, DATABASE_URL=empty_database)
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def flask(*arguments: str) -> str:
        return run(Path(sys.executable).with_name("flask"), "db", *arguments)

    def said(command: str) -> str:
        return svc_pg(command, folder=tmp_path, variables={"DATABASE_URL": empty_database}).stderr

    flask("init")
    flask("migrate", "-m", "customers")
    flask("upgrade")
    assert "wrote " in said("migrate")
    [revision] = (tmp_path / "migrations" / "versions").glob("*_svc_pg.py")
    assert "hint: Run it: flask db upgrade" in said("migrate")
    assert "public.customer" in revision.read_text(encoding="utf-8")
    flask("upgrade")
    assert said("status").startswith("ok")
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into customer (name) values ('Ann')")
        assert [entry.operation for entry in audit.query().resource("customer").list(conn).data] == ["INSERT"]
    assert "No changes in schema detected" in flask("migrate", "-m", "nothing")
    flask("downgrade")
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into customer (name) values ('Bob')")
    flask("upgrade")
    assert "Changes of incomplete tables may have no entry." in said("status")
    with psycopg.connect(empty_database) as conn:
        conn.execute("insert into customer (name) values ('Cem')")
        assert [entry.record_id for entry in audit.query().resource("customer").list(conn).data] == ["3", "1"]
