"""A snapshot is a mapping that keeps the text of the database, and is parsed once, when somebody looks."""

import copy
import json
import pickle
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from svc_pg.audit import Entry, Snapshot
from svc_pg.audit.log.entry import row_of
from svc_pg.database.query import RawJson
from svc_pg.formats.json_writer import encode, write
from svc_pg.webhooks.events.payloads import json_text

TEXT = '{"id": 7, "email": "a@example.com", "total": 12345678901234567.10}'


def entry(**values: Any) -> Entry:
    names = dict.fromkeys(Entry.__dataclass_fields__)
    known = {"id": "1", "timestamp": datetime(2026, 1, 31, tzinfo=UTC), "table_name": "public.t", "operation": "UPDATE"}
    return Entry(**{**names, **known, **values})


def test_members_are_read_like_those_of_a_dict() -> None:
    snapshot = Snapshot(TEXT)
    assert snapshot["email"] == "a@example.com"
    assert snapshot.get("phone") is None
    assert list(snapshot) == ["id", "email", "total"]
    assert (len(snapshot), "id" in snapshot, "phone" in snapshot) == (3, True, False)
    assert snapshot["total"] == Decimal("12345678901234567.10")
    assert {**snapshot} == snapshot.value
    with pytest.raises(KeyError):
        snapshot["phone"]


def test_the_text_stays_as_the_database_wrote_it() -> None:
    assert Snapshot(TEXT).text == str(Snapshot(TEXT)) == TEXT
    assert encode({"after": Snapshot(TEXT)}).decode() == f'{{"after":{TEXT}}}'
    assert json_text(Snapshot(TEXT)) == TEXT
    assert write([Snapshot(TEXT), 1]) == f"[{TEXT}, 1]"


def test_it_is_parsed_once_and_only_when_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    loads = json.loads

    def counted(text: str, **how: Any) -> Any:
        calls.append(text)
        return loads(text, **how)

    monkeypatch.setattr("json.loads", counted)
    snapshot = Snapshot(TEXT)
    encode(snapshot), repr(snapshot), str(snapshot), pickle.dumps(snapshot), copy.copy(snapshot)
    assert snapshot == Snapshot(TEXT)
    assert calls == []
    assert (snapshot["id"], snapshot["email"], len(snapshot)) == (7, "a@example.com", 3)
    assert calls == [TEXT]


def test_snapshots_are_equal_if_their_values_are() -> None:
    assert Snapshot('{"a": 1.10}') == Snapshot('{"a":1.1}')
    assert Snapshot('{"a": 1}') == {"a": 1}
    assert Snapshot('{"a": 1}') == {"a": 1}
    assert Snapshot('{"a": 1}') != Snapshot('{"a": 2}')
    assert Snapshot('{"a": 1}') != '{"a": 1}'
    assert Snapshot("[1]") != {}
    assert [bool(Snapshot(text)) for text in ("2.50", '"a"', "[1]", '{"a": 1}')] == [True] * 4
    assert [bool(Snapshot(text)) for text in ("0", '""', "[]", "{}", "null", "false")] == [False] * 6
    with pytest.raises(TypeError, match="unhashable"):
        hash(Snapshot("{}"))


@pytest.mark.parametrize("text", ["[1, 2]", "3", '"a"', "null"])
def test_one_that_is_no_object_has_no_members_and_a_value(text: str) -> None:
    assert list(Snapshot(text)) == []
    assert Snapshot(text).value == json.loads(text)


def test_it_survives_pickling_and_copying() -> None:
    snapshot = Snapshot(TEXT)
    assert snapshot["id"] == 7
    for twin in (pickle.loads(pickle.dumps(snapshot)), copy.deepcopy(snapshot), copy.copy(snapshot)):
        assert (twin, twin.text) == (snapshot, TEXT)
    assert repr(Snapshot("{}")) == "Snapshot('{}')"


def test_entries_have_snapshots_whatever_fields_they_have() -> None:
    found = entry(after_data=RawJson(TEXT), context=RawJson('{"request_id": "r-1"}'))
    assert found.after_data is not None
    assert found.after_data["id"] == 7
    assert found.context == {"request_id": "r-1"}
    assert found.before_data is None
    assert replace(found, before_data=found.after_data).before_data == found.after_data
    assert asdict(found)["after_data"] == found.after_data
    assert pickle.loads(pickle.dumps(found)) == found
    partial: Any = row_of(("id", "after_data"))(id="1", after_data=RawJson(TEXT))
    assert partial.after_data["id"] == 7
