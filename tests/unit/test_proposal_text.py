"""The text of a proposal: it is TOML, says what was proposed, and fits exactly the tables that it names."""

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg import Config
from svc_pg.capture.patterns import resolve
from svc_pg.capture.table import Table
from svc_pg.capture.titles import guessed_title, usual_titles
from svc_pg.database.table_names import TableName
from svc_pg.scaffold.example_event import ExampleEvent
from svc_pg.scaffold.proposal import Proposal, ProposedTable, RedactedColumn
from svc_pg.scaffold.toml_text import MANY_TABLES, toml_text

HOSTILE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from("*?[]\"'.\\#\n\r\t =\x7f\u202e"),
    min_size=1,
    max_size=12,
)


def loaded(text: str) -> Config:
    with TemporaryDirectory() as folder:
        path = Path(folder, "svc-pg.toml")
        path.write_text(text, encoding="utf-8")
        return Config.from_toml(path)


def proposal_of(names: list[TableName], left_out: list[TableName], columns: list[str]) -> Proposal:
    redact = [RedactedColumn(column, "hash", f"named like {column}") for column in columns]
    title = columns[0] if columns else None
    ignore = dict.fromkeys(columns[:1], "a\nreason = 1")
    tables = [ProposedTable(name, redact, ignore, columns, columns, title=title) for name in names]
    event = ExampleEvent(names[0], "order", columns or ["id"], "status")
    return Proposal(tables, dict.fromkeys(left_out, "a\nreason = 1"), event=event)


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=2, max_size=5, unique=True), st.lists(HOSTILE, unique=True))
def test_any_names_are_read_as_they_are(names: list[tuple[str, str]], columns: list[str]) -> None:
    named = [TableName(*name) for name in names]
    config = loaded(toml_text(proposal_of(named[1:], named[:1], columns)))
    assert set(resolve(config.audit.tables, named)) == set(named[1:])
    assert all(each.redact == dict.fromkeys(columns, "hash") for each in config.audit.tables)


@given(st.sampled_from(["public", "a.b", 'q"x', "we[ird"]), HOSTILE, HOSTILE)
@example(schema="public", odd="*", left="")
def test_of_many_tables_a_pattern_covers_all_but_those_left_out(schema: str, odd: str, left: str) -> None:
    names = [TableName(schema, f"t{number}") for number in range(MANY_TABLES)]
    others = [TableName(schema, f"x{odd}"), TableName("other", odd)]
    left_out = [TableName(schema, f"y{left}"), TableName("third", left)]
    found = names + others + left_out
    tables = [*(ProposedTable(name, []) for name in names)]
    tables += [ProposedTable(name, [RedactedColumn("a", "remove", "r")]) for name in others]
    text = toml_text(Proposal(tables, dict.fromkeys(left_out, "no key")))
    config = loaded(text)
    assert set(resolve(config.audit.tables, found)) == {*names, *others}
    assert len(config.audit.tables) == (3 if "*" in odd else 4)  # no pattern for a schema with such a table alone


def test_a_proposal_reads_as_a_person_would_write_it() -> None:
    card = RedactedColumn("card", "last4", "values look like payment cards")
    mail = RedactedColumn("e mail", "hash", "named like a mail address")
    tables = [
        ProposedTable(TableName("public", "customer"), [card, mail], title="name"),
        ProposedTable(
            TableName("public", "item"),
            [],
            {"last_login": "written at each sign-in", "login_count": "written at each sign-in"},
            ["first_name", "last_name"],
            key=["number"],
        ),
    ]
    event = ExampleEvent(TableName("public", "orders"), "order", ["id"])
    text = toml_text(Proposal(tables, {TableName("public", "alembic_version"): "Alembic's own"}, event=event))
    assert text.partition("\n\n")[2] == (
        '[[audit.tables]]\nname = "public.customer"    # title: name\n\n[audit.tables.redact]\n'
        'card = "last4"       # values look like payment cards\n'
        '"e mail" = "hash"    # named like a mail address\n\n'
        '[[audit.tables]]\nname = "public.item"\n'
        "# personal, and recorded as they are: first_name, last_name\n"
        'ignore = ["last_login", "login_count"]    # written at each sign-in\n'
        'key = ["number"]    # a unique index, as there is no primary key\n\n'
        "# Left out:\n# public.alembic_version: Alembic's own\n\n"
        "# An example of an event: webhooks send it to receivers when rows of the table change (the page Events from"
        " table\n# changes). Take away the first two characters of each line.\n"
        '# [webhooks.events."order.created"]\n# description = "Order created"\n#\n# [[webhooks.on_change]]\n'
        '# table = "public.orders"\n# operation = "INSERT"\n# event = "order.created"\n# payload = { id = "id" }\n'
    )
    assert tomllib.loads(text)["audit"]["tables"][1] == {
        "name": "public.item",
        "ignore": ["last_login", "login_count"],
        "key": ["number"],
    }


def test_the_head_names_the_keys_that_no_install_needs() -> None:
    head = toml_text(Proposal([])).partition("\n\n")[0]
    assert "#   retention_days, reconcile of audit\n" in head
    assert "keep_delivered, keep_failed of webhooks" in head
    assert [line for line in head.splitlines() if len(line) > 120] == []


@given(
    st.tuples(HOSTILE, HOSTILE), st.lists(HOSTILE, min_size=1, max_size=3, unique=True), st.none() | st.just("state")
)
def test_the_example_of_an_event_is_a_configuration_without_its_comment_signs(
    name: tuple[str, str], key: list[str], state: str | None
) -> None:
    text = toml_text(Proposal([], event=ExampleEvent(TableName(*name), "order", key, state)))
    assert loaded(text) == Config()
    example = text.partition("each line.\n")[2]
    config = loaded("\n".join(line.removeprefix("# ").removeprefix("#") for line in example.splitlines()))
    [rule] = config.webhooks.change_events
    assert TableName.parse(rule.table) == TableName(*name)
    assert rule.columns == (None if state is None else [state])
    assert [*config.webhooks.events] == [rule.event]


def test_elsewhere_the_default_schema_is_not_written() -> None:
    tables = [ProposedTable(TableName("main", "customer"), []), ProposedTable(TableName("main", "a.b"), [])]
    config = loaded(toml_text(Proposal(tables, default_schema="main")))
    assert [each.name for each in config.audit.tables] == ["public.customer", 'public."a.b"']


@pytest.mark.parametrize(
    ("columns", "title"),
    [
        ("id title body", "title"),
        ("id title first_name last_name", None),
        ("id title surname code", "code"),
        ("id title lastName", None),
        ("id title family_name email", "email"),
        ("id title last_named", "title"),
    ],
)
def test_a_form_of_address_names_no_record(columns: str, title: str | None) -> None:
    assert guessed_title(table_of("person", columns), [], ["id"]) == title


@pytest.mark.parametrize(
    ("table", "columns", "title"),
    [
        ("dashboards", "id dashboard_title slug", "dashboard_title"),
        ("slices", "id slice_name datasource_name", "slice_name"),
        ("sql_metrics", "id metric_name verbose_name", "metric_name"),
        ("categories", "id category_name", "category_name"),
        ("OrderBoxes", "id boxName", "boxName"),
        ("orders", "id customer_name number", "number"),
        ("favstar", "id class_name", None),
        ("name", "id my_name", None),
        ("dashboards", "id dashboard_title name", "name"),
    ],
)
def test_a_name_with_the_noun_of_its_table_names_a_record(table: str, columns: str, title: str | None) -> None:
    assert guessed_title(table_of(table, columns), [], ["id"]) == title
    recorded = set(columns.split())
    assert list(usual_titles(recorded, table=f'sales."{table}"'))[:1] == ([] if title is None else [title])


@pytest.mark.parametrize("type_", ["jsonb", "bytea", "boolean", "text[]"])
def test_a_column_of_values_that_are_no_name_names_no_record(type_: str) -> None:
    table = table_of("product", "id name code", {"name": type_})
    assert guessed_title(table, [], ["id"]) == "code"
    assert guessed_title(table, ["code"], ["id"]) is None
    assert guessed_title(table_of("product", "code"), [], ["code"]) is None


def table_of(name: str, columns: str, types: dict[str, str] | None = None) -> Table:
    return Table(
        name=TableName("public", name),
        columns=columns.split(),
        json_columns=[],
        key=["id"],
        virtual=[],
        unique=[],
        is_partitioned=False,
        partitions=[],
        parent=None,
        types=types or {},
    )
