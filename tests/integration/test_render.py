"""Whatever is put into a template comes out of the server exactly, or is refused."""

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jinja2 import DictLoader

from svc_pg.errors import RenderError
from svc_pg.rendering import templates as rendering

HOSTILE = [
    '"', "'", "\\", "''", "E'", "$", "$$", "$svc", "svc$", "$svc$", "\0", "{{", "}}", "{%", "{#", "%s", "%(x)s", "%",
    "--", "/*", "*/", ";", "\n", "\r", "\t", " ", ".", "public", "é", "\u202e", "\ud800", "\udfff", "\U0001f600",
]  # fmt: skip
texts = st.lists(st.sampled_from(HOSTILE) | st.characters(exclude_categories=()), max_size=20).map("".join)
names = texts | texts.map(lambda text: text.ljust(63, "x")) | st.text("é", min_size=30, max_size=33)

REMEMBER = "set_config('svc.remembered', {{ value | literal }}, true)"
PLACES = {
    "statement": f"select {REMEMBER}",
    "block": f"do $svc$ begin perform {REMEMBER}; end $svc$",
    "function": f"""
        create function pg_temp.remember() returns text language plpgsql as $svc$ begin return {REMEMBER}; end $svc$;
        select pg_temp.remember()""",
}


@pytest.fixture(scope="module")
def plain(postgres: str) -> Iterator[psycopg.Connection]:
    """A connection to a database without svc."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        yield conn


def rendered(template: str, **values: object) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering._environment(), "loader", DictLoader({"test.j2": template}))
        return rendering.render("test.j2", **values)


def is_storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def is_name(text: str) -> bool:
    return is_storable(text) and 0 < len(text.encode()) <= 63


@given(name=names)
@example(name="x" * 63)
@example(name="x" * 64)
@example(name="é" * 31 + "x")
@example(name="é" * 32)
def test_an_identifier_comes_back_as_it_was(plain: psycopg.Connection, name: str) -> None:
    if not is_name(name):
        with pytest.raises(RenderError):
            rendered("select 1 as {{ name | ident }}", name=name)
        return
    description = plain.execute(rendered("select 1 as {{ name | ident }}", name=name)).description
    assert description is not None
    assert [column.name for column in description] == [name]


@given(value=texts)
@example(value="x\nselect 2")
@example(value="x\r\nselect 2")
def test_a_comment_ends_with_its_line_whatever_it_says(plain: psycopg.Connection, value: str) -> None:
    template = "-- {{ value | comment }}\nselect 1"
    if not is_storable(value):
        with pytest.raises(RenderError):
            rendered(template, value=value)
        return
    assert plain.execute(rendered(template, value=value)).fetchall() == [(1,)]


@given(schema=names, table=names)
def test_a_qualified_name_is_that_table_in_that_schema(plain: psycopg.Connection, schema: str, table: str) -> None:
    create = "create schema {{ names[0] | ident }}; create table {{ names | idents }} ()"
    if not (is_name(schema) and is_name(table)):
        with pytest.raises(RenderError):
            rendered(create, names=(schema, table))
        return
    assume(not schema.startswith("pg_") and schema not in ("public", "information_schema"))  # PostgreSQL's own
    with plain.transaction(force_rollback=True):
        plain.execute(rendered(create, names=(schema, table)))
        found = plain.execute(
            "select nspname, relname from pg_class c join pg_namespace n on n.oid = relnamespace"
            " where c.oid = to_regclass(%s)",
            [rendered("{{ names | idents }}", names=(schema, table))],
        ).fetchall()
    assert found == [(schema, table)]


@pytest.mark.parametrize("standard_conforming_strings", ["on", "off"])
@pytest.mark.parametrize("place", sorted(PLACES))
@given(value=texts)
def test_a_text_comes_back_as_it_was(
    plain: psycopg.Connection, place: str, standard_conforming_strings: str, value: str
) -> None:
    if not is_storable(value):
        with pytest.raises(RenderError):
            rendered(PLACES[place], value=value)
        return
    with plain.transaction(force_rollback=True):
        plain.execute("select set_config('standard_conforming_strings', %s, true)", [standard_conforming_strings])
        plain.execute(rendered(PLACES[place], value=value))
        remembered = plain.execute("select current_setting('svc.remembered')").fetchone()
    assert remembered == (value,)


@given(values=st.lists(texts, max_size=4))
def test_an_array_of_text_comes_back_as_it_was(plain: psycopg.Connection, values: list[str]) -> None:
    if not all(map(is_storable, values)):
        with pytest.raises(RenderError):
            rendered("select {{ values | literal }}", values=values)
        return
    assert plain.execute(rendered("select {{ values | literal }}", values=values)).fetchone() == (values,)


@pytest.mark.parametrize("value", [None, True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**70])
def test_other_values_come_back_as_they_were(plain: psycopg.Connection, value: object) -> None:
    assert plain.execute(rendered("select {{ value | literal }}", value=value)).fetchone() == (value,)


def test_a_minus_before_a_negative_number_is_no_comment(plain: psycopg.Connection) -> None:
    assert plain.execute(rendered("select 1 -{{ value | literal }}", value=-2)).fetchone() == (3,)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ value | literal }}", 1.5),
        ("{{ value | literal }}", b"bytes"),
        ("{{ value | literal }}", [1]),
        ("{{ value | literal }}", [None]),
        ("{{ value | ident }}", ""),
        ("{{ value | ident }}", None),
        ("{{ value | ident }}", ["public"]),
        ("{{ value | idents }}", []),
        ("{{ value | idents }}", ["public", ""]),
        ("{{ value | idents }}", ["public", 1]),
    ],
)
def test_a_value_of_another_kind_is_refused(template: str, value: object) -> None:
    with pytest.raises(RenderError):
        rendered(template, value=value)


@pytest.mark.parametrize(
    "template",
    [
        "{{ value }}",
        "{{ value | upper }}",
        "{{ 'constant' }}",
        "{{ 1 }}",
        "{{ none }}",
        "{{ value | ident | upper }}",
        "{{ value | ident | trim }}",
        "{{ value | ident | replace('\"', '') }}",
        "{{ value | ident | safe }}",
        "{{ (value | ident) ~ '' }}",
        "{{ '' ~ (value | ident) }}",
        "{{ (value | ident) + '' }}",
        "{{ (value | ident)[1:] }}",
        "{{ [value | ident, value | ident] | join(', ') }}",
        "{{ '%s' | format(value | ident) }}",
        "{{ value | ident if false }}",
        "{% set text %}{{ value | ident }}{% endset %}{{ text }}",
        "{% filter replace('\"', '') %}{{ value | ident }}{% endfilter %}",
        "{% macro hole() %}{{ value | ident }}{% endmacro %}{{ hole() }}",
    ],
)
def test_a_hole_is_quoted_last_of_all_or_refused(template: str) -> None:
    with pytest.raises(RenderError):
        rendered(template, value="name")


@pytest.mark.parametrize(
    "hole", ["missing", "missing | ident", "missing | idents", "missing | literal", "value.missing | ident"]
)
def test_a_missing_value_is_refused_by_name(hole: str) -> None:
    with pytest.raises(RenderError, match="missing"):
        rendered(f"{{{{ {hole} }}}}", value="name")


def test_a_missing_template_is_refused_by_name() -> None:
    with pytest.raises(RenderError, match="no/such/file"):
        rendering.render("no/such/file.sql.j2")


def test_equal_values_give_equal_bytes() -> None:
    template = "{{ name | ident }} {{ values | literal }}\n"
    assert rendered(template, name="a", values=["b"]) == rendered(template, name="a", values=["b"])
