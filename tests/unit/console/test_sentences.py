"""A transaction in a sentence: its subject, its facts, and the name of a record."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from svc_pg.audit.log.entry import Entry
from svc_pg.config import AuditedTable
from svc_pg.console.built_in.transaction_pages import ChangeCount, LoggedTransaction
from svc_pg.console.pages.audit.record_names import name_of
from svc_pg.console.pages.audit.sentences import Sentence, sentence
from svc_pg.console.pages.record_titles import LONGEST, RecordTitles
from svc_pg.database.query import RawJson

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TITLES = RecordTitles(
    [
        AuditedTable(name="person", title="nick"),
        AuditedTable(name="sales.*", title="number"),
        AuditedTable(name="sales.line"),
    ]
)


def entry(
    table: str, operation: Any, *, before: Any = None, after: Any = None, record: str | None = "1", **more: Any
) -> Entry:
    raw = [
        None if each is None else RawJson(each if isinstance(each, str) else json.dumps(each))
        for each in (before, after)
    ]
    fields: dict[str, Any] = dict.fromkeys(Entry.__dataclass_fields__)
    return Entry(
        **{
            **fields,
            "id": more.pop("id", "1"),
            "timestamp": NOW,
            "table_name": more.pop("table_name", f"public.{table}"),
            "operation": operation,
            "record_id": record,
            "db_user": "app",
            "before_data": raw[0],
            "after_data": raw[1],
            **more,
        }
    )


def said(*entries: Entry, others: Sequence[ChangeCount] = ()) -> Sentence:
    kinds = Counter((each.operation, each.table_name) for each in entries)
    changes = [ChangeCount(operation, table, count) for (operation, table), count in kinds.items()]
    changes += others
    count = sum(each.count for each in changes)
    return sentence(LoggedTransaction("7", NOW, [*entries], changes, count, is_complete=True), TITLES)


def shown(found: Sentence) -> list[tuple[str, str, str | None, str | None]]:
    def text(value: Any) -> str | None:
        return None if value is None else "".join(part.text for part in value.parts)

    return [(each.entry.id, each.field, text(each.before), text(each.after)) for each in found.facts]


def test_the_gravest_change_is_the_subject_and_the_first_of_several() -> None:
    first = entry("orders", "INSERT", after={"id": 1}, id="1")
    grave = entry(
        "product", "UPDATE", changed_fields=["price"], severity="high", before={"price": 2}, after={"price": 1}, id="2"
    )
    assert said(first, grave).subject is grave
    assert said(first, entry("line", "INSERT", after={}, id="3")).subject is first


def test_an_update_tells_its_fields_and_those_that_say_little_come_last() -> None:
    names = ["updated_at", "owner_id", "status", "total", "note"]
    before, after = ({name: f"{name} {side}" for name in names} for side in ("was", "is"))
    found = said(entry("orders", "UPDATE", before=before, after=after, changed_fields=names))
    assert [fact[1] for fact in shown(found)] == ["status", "total", "note", "updated_at"]
    assert found.more == 1
    assert shown(found)[0] == ("1", "status", "status was", "status is")


def test_a_new_row_tells_short_values_but_neither_its_key_nor_its_name() -> None:
    after = {
        "id": 1,
        "name": "Ridge tent",
        "price": 249,
        "made_at": "2026-01-01",
        "maker_id": 7,
        "tags": ["a"],
        "text": "x" * 41,
        "gone": None,
        "stock": 40,
    }
    found = said(entry("product", "INSERT", after=after))
    assert [fact[1] for fact in shown(found)] == ["price", "stock"]
    assert name_of(found.subject, TITLES) == "Ridge tent"


def test_rows_of_one_kind_are_counted_and_others_are_told_by_table() -> None:
    many = [entry("line", "INSERT", after={"position": n}, record=str(n), id=str(n)) for n in range(1, 11)]
    found = said(*many)
    assert found.rows is not None
    assert (found.rows.count, found.rows.table, found.others) == (10, "line", [])
    mixed = said(entry("orders", "INSERT", after={"status": "placed"}, id="20"), *many)
    assert mixed.rows is None
    assert [(rows.table, rows.count) for rows in mixed.others] == [("line", 10)]
    hidden = said(*many, others=[ChangeCount("DELETE", "public.orders", 2)])
    assert hidden.rows is None
    assert [(rows.operation, rows.table, rows.count) for rows in hidden.others] == [
        ("INSERT", "line", 9),
        ("DELETE", "orders", 2),
    ]


@pytest.mark.parametrize(
    "snapshot",
    ["1", "null", '"text"', "[1]", '{"name": ["x"]}', '{"name": ""}', "1" * 5000, "[" * 100_000 + "]" * 100_000],
)
def test_any_snapshot_is_told_and_names_nothing_if_it_has_no_name(snapshot: str) -> None:
    found = said(entry("odd", "INSERT", after=snapshot))
    assert (found.facts, name_of(found.subject, TITLES)) == ([], None)


@pytest.mark.parametrize(
    ("after", "more", "name"),
    [
        ({"title": "Novel", "email": "a@b.example"}, {}, "Novel"),
        ({"name": None, "email": "a@b.example"}, {}, "a@b.example"),
        ({"name": "x" * (LONGEST + 1), "code": "K7"}, {}, "K7"),
        ({"name": "secret", "code": "K7"}, {"redacted_fields": ["name"]}, "K7"),
        ({"name": "1", "number": 12}, {}, "12"),
        ({"name": "secret", "code": "K7"}, {"redacted_fields": ["*"]}, None),
        ({"title": "Dr", "last_name": "Moe", "code": "K7"}, {}, "K7"),
        ({"erased": True}, {"redacted_fields": ["*"]}, None),
        ({"name": True}, {}, None),
    ],
)
def test_a_record_is_named_by_the_first_column_that_may(after: Any, more: dict[str, Any], name: str | None) -> None:
    assert name_of(entry("thing", "INSERT", after=after, **more), TITLES) == name


def test_a_title_is_the_only_name_of_its_table() -> None:
    after = {"name": "Ann", "nick": "annie", "number": "R-7"}
    names = {"public.person": "annie", "sales.order": "R-7", "sales.line": "Ann", "other.person": "Ann", "a.b.c": "Ann"}
    for table, name in names.items():
        assert name_of(entry("", "INSERT", after=after, table_name=table), TITLES) == name
    assert name_of(entry("person", "INSERT", after={"name": "Ann"}), TITLES) is None
    hidden = entry("person", "INSERT", after=after, redacted_fields=["nick"])
    assert name_of(hidden, TITLES) is None
    of_mysql = RecordTitles([AuditedTable(name="person", title="nick")], is_of_any_schema=True)
    assert name_of(entry("", "INSERT", after=after, table_name="shop.person"), of_mysql) == "annie"
    assert [fact[1] for fact in shown(said(entry("person", "INSERT", after=after)))] == ["name", "number"]


@pytest.mark.parametrize(
    ("table", "after", "name"),
    [
        ("svc.webhook_endpoints", {"url": "https://a.example", "description": "The ERP"}, "The ERP"),
        ("svc.webhook_endpoints", {"url": "https://a.example", "description": ""}, "https://a.example"),
        ("svc.console_sessions", {"email": "mara@a.example"}, "mara@a.example"),
        ("svc.tenants", {"name": "Acme"}, "Acme"),
    ],
)
def test_the_records_of_the_console_have_names(table: str, after: dict[str, str], name: str) -> None:
    assert name_of(entry("", "INSERT", after=after, table_name=table), TITLES) == name


def test_an_erased_or_redacted_value_is_told_to_nobody() -> None:
    hidden = entry("customer", "UPDATE", before={}, after={}, changed_fields=["card"], redacted_fields=["card"])
    [fact] = said(hidden).facts
    assert (fact.is_disguised, fact.before, fact.after) == (True, None, None)
    erased = entry("customer", "INSERT", after={"erased": True}, redacted_fields=["*"])
    assert said(erased).facts == []


def test_what_the_log_tells_of_itself_is_its_description_without_numbers_beside_it() -> None:
    facts = {"rows": 141, "gone": 0, "missing": 0}
    words = "Compared 141 rows of public.orders with the log: 0 differences"
    compared = entry(
        "", "SNAPSHOT", table_name="svc.audit_logs", after=facts, record="public.orders", description=words
    )
    assert (said(compared).note, shown(said(compared))) == (words, [])
    by_application = entry("orders", "UPDATE", changed_fields=["a"], before={}, after={"a": 1}, description=words)
    assert (said(by_application).note, len(said(by_application).facts)) == ("", 1)
