import sqlite3
from contextlib import closing
from typing import Any

import pytest
from jinja2 import DictLoader

from svc_pg.errors import RenderError
from svc_pg.other_databases.capture.sqlite.expressions import Sqlite
from svc_pg.rendering import templates as rendering
from svc_pg.rendering.sql_text import Sql, chained, joined, sql
from svc_pg.rendering.templates import render_for

VALUES = ["it's", "", "a\nb", '"', "\\", "%", "{0}", "Ünï😀", "$svc$", True, False, None, 0, -5, 2**63 - 1, 0.1, -1e300]


def test_only_sql_is_composed() -> None:
    value: Any = "x"
    with pytest.raises(RenderError, match="not of str"):
        sql("{}", value)
    for join in (joined, chained):
        with pytest.raises(RenderError, match="not of str"):
            join(", ", [value])


def test_long_chains_are_not_nested_deeply() -> None:
    chain = chained(" + ", [sql("1")] * 30_000)
    with closing(sqlite3.connect(":memory:")) as conn:
        assert conn.execute(f"select {chain.text}").fetchone() == (30_000,)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_literal_of_sqlite_comes_back_as_it_was(value: str | float | None) -> None:
    text = sql("select {}", Sqlite().literal(value)).text
    with closing(sqlite3.connect(":memory:")) as conn:
        assert conn.execute(text).fetchone() == (value,)


@pytest.mark.parametrize("name", ["it's", 'a"b', "select", "a b", "]", "`", "Ünï"])
def test_an_identifier_of_sqlite_comes_back_as_it_was(name: str) -> None:
    text = sql("select 1 as {}", Sqlite().ident(name)).text
    with closing(sqlite3.connect(":memory:")) as conn:
        assert conn.execute(text).description[0][0] == name


@pytest.mark.parametrize("value", ["a\0b", "\ud800", float("inf"), float("nan")], ids=repr)
def test_a_value_that_sqlite_cannot_hold_is_refused(value: str | float) -> None:
    with pytest.raises(RenderError):
        Sqlite().literal(value)


@pytest.mark.parametrize("value", [1.5, object(), b"a"], ids=["a float", "an object", "bytes"])
def test_a_literal_of_postgresql_is_of_the_types_that_it_knows(value: Any) -> None:
    with pytest.raises(RenderError):
        rendering.literal(value)


def test_an_unquoted_hole_of_another_database_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dialect = Sqlite(old=Sql("other"))
    templates = {"bare": "select {{ x }}", "filtered": "select {{ x | upper }}", "raw": "select {{ x | expression }}"}
    monkeypatch.setattr(rendering._environment_for(dialect), "loader", DictLoader(templates))
    for template in templates:
        with pytest.raises(RenderError):
            render_for(dialect, template, x="1; drop table t")
