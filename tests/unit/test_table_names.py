import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.rendering.schema_objects import Trigger

parts = st.text(st.sampled_from('ab."\n é') | st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("customer", TableName("public", "customer")),
        ("shop.customer", TableName("shop", "customer")),
        ("Shop.Customer", TableName("Shop", "Customer")),
        ('"shop".customer', TableName("shop", "customer")),
        ('public."odd.name"', TableName("public", "odd.name")),
        ('"a.b"."say ""hi"""', TableName("a.b", 'say "hi"')),
    ],
)
def test_a_table_name_is_read_as_people_write_it(text: str, expected: TableName) -> None:
    assert TableName.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a.b.c", "a..b", '""', 'a.""', '"a', 'a"', '"a"b', 'a."b"c', '"a""', '"']
)
def test_what_is_no_table_name_is_refused_with_the_form_to_write(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a table name") as caught:
        TableName.parse(text)
    assert caught.value.hint is not None
    assert "schema.table" in caught.value.hint


def test_the_text_of_a_table_name_quotes_only_where_it_must() -> None:
    assert str(TableName("public", "Order Lines")) == "public.Order Lines"
    assert str(TableName("a.b", 'c"d')) == '"a.b"."c""d"'


@given(schema=parts, table=parts)
def test_parsing_the_text_of_a_table_name_gives_it_back(schema: str, table: str) -> None:
    assert TableName.parse(str(TableName(schema, table))) == TableName(schema, table)


@given(text=st.text(st.sampled_from('ab."')))
def test_any_text_is_a_table_name_or_a_config_error(text: str) -> None:
    try:
        name = TableName.parse(text)
    except ConfigError:
        return
    assert all(name)


words = st.lists(st.sampled_from(["on", "a", '"', '"on"', "b.c"]), min_size=1).map(" ".join)


@given(words, words, words)
def test_a_trigger_is_read_from_its_identity_whatever_the_names(name: str, schema: str, table: str) -> None:
    trigger = Trigger(name, TableName(schema, table))
    assert Trigger.parse(str(trigger)) == trigger


def test_the_identity_of_a_trigger_quotes_a_name_only_if_it_must() -> None:
    assert str(Trigger("insert_a", TableName("main", "on b"))) == "insert_a on main.on b"
    assert str(Trigger("insert_a on b", TableName("main", "a on b"))) == '"insert_a on b" on main.a on b'
