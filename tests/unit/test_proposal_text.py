"""The text of a proposal: it is TOML, says what was proposed, and fits exactly the tables that it names."""

import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from svc_pg import Config
from svc_pg.capture.patterns import resolve
from svc_pg.database.table_names import TableName
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
    return Proposal(
        [ProposedTable(name, redact, columns, title=title) for name in names], dict.fromkeys(left_out, "a\nreason = 1")
    )


@given(st.lists(st.tuples(HOSTILE, HOSTILE), min_size=2, max_size=5, unique=True), st.lists(HOSTILE, unique=True))
def test_any_names_are_read_as_they_are(names: list[tuple[str, str]], columns: list[str]) -> None:
    named = [TableName(*name) for name in names]
    config = loaded(toml_text(proposal_of(named[1:], named[:1], columns)))
    assert set(resolve(config.audit.tables, named)) == set(named[1:])
    assert all(each.redact == dict.fromkeys(columns, "hash") for each in config.audit.tables)


@given(st.sampled_from(["public", "a.b", 'q"x', "we[ird"]), HOSTILE, HOSTILE)
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
    assert len(config.audit.tables) == 4


def test_a_proposal_reads_as_a_person_would_write_it() -> None:
    card = RedactedColumn("card", "last4", "values look like payment cards")
    mail = RedactedColumn("e mail", "hash", "named like a mail address")
    tables = [
        ProposedTable(TableName("public", "customer"), [card, mail], title="name"),
        ProposedTable(TableName("public", "item"), []),
    ]
    text = toml_text(Proposal(tables, {TableName("public", "alembic_version"): "Alembic's own"}))
    assert text.partition("\n\n")[2] == (
        '[[audit.tables]]\nname = "public.customer"    # title: name\n\n[audit.tables.redact]\n'
        'card = "last4"       # values look like payment cards\n'
        '"e mail" = "hash"    # named like a mail address\n\n'
        '[[audit.tables]]\nname = "public.item"\n\n'
        "# Left out:\n# public.alembic_version: Alembic's own\n"
    )
    assert tomllib.loads(text)["audit"]["tables"][1] == {"name": "public.item"}


def test_elsewhere_the_default_schema_is_not_written() -> None:
    tables = [ProposedTable(TableName("main", "customer"), []), ProposedTable(TableName("main", "a.b"), [])]
    config = loaded(toml_text(Proposal(tables, default_schema="main")))
    assert [each.name for each in config.audit.tables] == ["public.customer", 'public."a.b"']
