"""Rebuild rows from a file that somebody else made: what is refused, and what is said."""

import gzip
import io
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.rebuild import entry_store, export_lines, rebuilding, record_key, result_rows
from svc_pg.audit.rebuild.export_lines import Line
from svc_pg.audit.rebuild.file_entry import file_entry
from svc_pg.audit.rebuild.findings import MOST_NAMES, Findings, Names
from svc_pg.audit.rebuild.rebuilding import rebuild
from svc_pg.audit.rebuild.record_key import RecordKey
from svc_pg.errors import NotFoundError, QueryError, SvcError
from svc_pg.formats.json_writer import write_ascii

START = datetime(2026, 1, 1, tzinfo=UTC)


def entry(number: int, operation: str, record: str | None, before: Any, after: Any, **others: Any) -> dict[str, Any]:
    """A line, of which others replace members."""
    return {
        "id": str(number),
        "timestamp": (START + timedelta(minutes=number)).isoformat(),
        "tableName": "public.t",
        "operation": operation,
        "recordId": record,
        "beforeData": before,
        "afterData": after,
        "redactedFields": None,
        "xactId": str(700 + number),
        "partition": None,
    } | others


def insert(number: int, key: int, **others: Any) -> dict[str, Any]:
    """An INSERT of a row with this key."""
    return entry(number, "INSERT", str(key), None, {"id": key}) | others


def file_of(*entries: dict[str, Any]) -> bytes:
    return b"".join(write_ascii(each).encode() + b"\n" for each in entries)


def nested(depth: int) -> Any:
    """Arrays and objects within each other."""
    value: Any = 1
    for place in range(depth):
        value = [value] if place % 2 else {"a": value}
    return value


def run(text: bytes, **options: Any) -> tuple[str, Findings]:
    out = io.BytesIO()
    found = rebuild(io.BufferedReader(io.BytesIO(text)), out, **options)
    return out.getvalue().decode(), found


def rows(text: str) -> list[Any]:
    """The objects of all INSERTs, whose constants have no escapes."""
    return [row for group in re.findall(r"E'(\[.*?\])'\);", text, re.S) for row in json.loads(group)]


TWO = file_of(insert(1, 1), insert(2, 2))
ARRAY = b"[\n" + TWO.replace(b"\n{", b"\n,{") + b"]\n"


@pytest.mark.parametrize(
    "text", [TWO, ARRAY, TWO.rstrip(), gzip.compress(TWO), b"".join(reversed(TWO.splitlines(keepends=True)))]
)
def test_each_form_of_an_export_gives_its_rows(text: bytes) -> None:
    assert rows(run(text)[0]) == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "the export is empty"),
        (b"\n", "the export has no entry"),
        (b"[]\n", "the export has no entry"),
        (TWO[:-20], "the export is cut: it ends within line 2"),
        (ARRAY[:-2], "its array has no end after line 3"),
        (ARRAY + TWO, "line 5 comes after the end"),
        (gzip.compress(TWO)[:-9], "compressed export is cut"),
        (b"id,timestamp,tableName\r\n", "CSV"),
        (b"PAR1....", "Parquet"),
        (b"\xff\xfe\n", "line 1 is not UTF-8"),
        (b"hello\n", "line 1 is no entry"),
        (b"{" * 100_000 + b"\n", "line 1 is no entry"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", "line 1 is no entry"),
        (b'{"a": NaN}\n', "line 1 is no entry"),
        (TWO + b'{"kind": "seal", "text": "{}", "signature": "x"}\n', "line 3 is no entry"),
        (file_of(insert(1, 1), insert(1, 2)), "two different entries have the id 1"),
        (file_of(insert(1, 1), insert(2, 1, tableName="public.u")), "several tables"),
        (file_of(insert(1, 1, id="-1")), "its id is no number"),
        (file_of(insert(1, 1, id="9" * 20)), "its id is no number"),
        (file_of(insert(1, 1, timestamp="2026-01-01")), "its timestamp has no time zone"),
        (file_of(insert(1, 1, timestamp="0001-01-01T00:00:00+23:59")), "line 1 is no entry"),
        (file_of(insert(1, 1, timestamp="9999-12-31T23:59:59-23:59")), "line 1 is no entry"),
        (file_of(insert(1, 1, operation="MERGE")), "its operation is unknown"),
        (file_of(insert(1, 1, recordId="\ud800")), "line 1 is no entry"),
        (file_of(entry(1, "INSERT", "1", None, [1])), "its afterData is no object"),
        (file_of(insert(1, 1, tableName="x" * 64)), "longer than a name"),
        (file_of(insert(1, 1, tableName="x" * 1025)), "its tableName has more than 1,024 characters"),
        (file_of(insert(1, 1, partition="x" * 1025)), "its partition has more than 1,024 characters"),
        (file_of(insert(1, 1, recordId="x" * 65_537)), "its recordId has more than 65,536 characters"),
        (file_of(insert(1, 1, movedFrom="x" * 65_537)), "its movedFrom has more than 65,536 characters"),
        (file_of(insert(1, 1, redactedFields={"a": 1})), "its redactedFields are no names"),
        (file_of(insert(1, 1, redactedFields=["a", None])), "its redactedFields are no names"),
        (file_of(entry(1, "INSERT", "1", None, {f"c{n}": n for n in range(1601)})), "more than 1,600 columns"),
        (file_of(entry(1, "INSERT", "1", None, {"a": nested(500)})), "more than 500 arrays and objects within"),
        (file_of(insert(1, 1, tableName='public.x"; drop table y; --')), "is not a table name"),
    ],
)
def test_what_is_no_export_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(SvcError, match=re.escape(problem)):
        run(text)


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_lines, "MAX_LINE_BYTES", 1000)
    with pytest.raises(SvcError, match="line 2 has more than"):
        run(file_of(insert(1, 1), entry(2, "INSERT", "2", None, {"id": 2, "a": "x" * 1000})))


def test_a_table_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(SvcError, match=r"no entry of 'public\.u'") as refused:
        run(TWO, table="u")
    assert refused.value.hint == "It has 'public.t'."


def test_an_entry_that_comes_twice_counts_once() -> None:
    text, found = run(TWO + TWO)
    assert (rows(text), found.repeated) == ([{"id": 1}, {"id": 2}], 2)


def test_entries_of_svc_pg_itself_are_no_table_to_choose() -> None:
    text, found = run(file_of(insert(1, 1), insert(2, 1, tableName="svc.audit_logs")))
    assert rows(text) == [{"id": 1}]
    assert found.sentences() == ["Entries were purged from this log, so older rows may be missing."]


def test_numbers_keep_their_digits() -> None:
    image = '{"id": 1, "n": 12345678901234567890.1234567890, "e": 1e400, "secret": "x"}'
    line = file_of(insert(1, 1, redactedFields=["secret"])).replace(b'{"id": 1}', image.encode())
    text, found = run(line)
    assert '{"id": 1, "n": 12345678901234567890.1234567890, "e": 1e400}' in text
    assert found.sentences() == ["A column is redacted in the log, and is left out: 'secret' in 1 row."]


def test_a_value_that_the_log_lacks_is_said_and_left_out() -> None:
    marker = {"oversized": True, "bytes": 9000, "sha256": "00"}
    text, found = run(file_of(entry(1, "INSERT", "1", None, {"id": 1, "a": marker, "b": {"bytes": 1}})))
    assert rows(text) == [{"id": 1, "b": {"bytes": 1}}]
    assert found.unrecorded == {"a": 1}
    assert "-- A column was too large for the log" in text


def test_an_erased_row_is_said_and_left_out() -> None:
    erased = {"erased": True}
    text, found = run(
        file_of(insert(1, 1), entry(2, "INSERT", "2", None, erased), entry(3, "UPDATE", "2", erased, erased))
    )
    assert (rows(text), found.erased.first, found.gaps.count) == ([{"id": 1}], ["2"], 0)


def test_a_missing_change_is_said_and_the_last_entry_counts() -> None:
    text, found = run(file_of(insert(1, 1), entry(2, "UPDATE", "1", {"id": 1, "a": 1}, {"id": 1, "a": 2})))
    assert rows(text) == [{"id": 1, "a": 2}]
    assert (found.gaps.first, found.from_before.count) == (["1"], 0)


def test_a_row_from_before_that_ends_its_transaction_unchanged_is_there_and_in_doubt() -> None:
    first, second = {"id": 1, "a": 1}, {"id": 1, "a": 2}
    text, found = run(
        file_of(entry(1, "UPDATE", "1", first, second, xactId="7"), entry(2, "UPDATE", "1", second, first, xactId="7"))
    )
    assert rows(text) == [first]
    assert (found.doubtful.count, found.from_before.count) == (1, 1)


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_row_without_a_key_that_ends_its_transaction_unchanged_is_in_doubt_unless_the_table_was_empty(
    *, is_emptied: bool
) -> None:
    first, second = {"a": 1}, {"a": 2}
    text, found = run(
        file_of(
            entry(1, "TRUNCATE", None, None, None) if is_emptied else entry(1, "INSERT", None, None, {"a": 3}),
            entry(2, "UPDATE", None, first, second, xactId="7"),
            entry(3, "UPDATE", None, second, first, xactId="7"),
        )
    )
    assert rows(text) == ([] if is_emptied else [{"a": 3}])
    assert found.doubtful.count == (not is_emptied)


def test_a_row_that_a_later_entry_knows_was_there_at_the_time() -> None:
    text, _ = run(file_of(insert(1, 1), entry(5, "DELETE", "9", {"id": 9}, None)), at=START + timedelta(minutes=2))
    assert rows(text) == [{"id": 1}, {"id": 9}]


def test_a_time_before_the_first_entry_is_refused() -> None:
    with pytest.raises(SvcError, match=r"is not known before 2026-01-01T00:01:00\.000000Z"):
        run(TWO, at=START)


def test_an_export_that_ends_before_the_time_says_so() -> None:
    other = insert(4, 1, tableName="svc.audit_logs")
    for minutes, is_told in ((2, False), (3, True)):
        text, found = run(TWO, at=START + timedelta(minutes=minutes))
        assert (found.ends == "2026-01-01T00:02:00.000000Z") is is_told
        assert ("The export ends at 2026-01-01T00:02:00.000000Z, before the time" in text) is is_told
    assert run(TWO + file_of(other), at=START + timedelta(minutes=4))[1].ends is None


def test_a_time_inside_a_transaction_has_its_changes_in_their_own_order_and_says_so() -> None:
    first, second, third = ({"id": 1, "a": a} for a in range(3))
    changes = [insert(1, 1, afterData=first)]  # a trigger writes the entry of the later change first
    changes += [entry(n, "UPDATE", "1", *each, xactId="7") for n, each in ((2, (second, third)), (4, (first, second)))]
    for minutes, row, cut in ((1, first, 0), (3, second, 1), (4, third, 0)):
        text, found = run(file_of(*changes), at=START + timedelta(minutes=minutes))
        assert (rows(text), found.cut, found.doubtful.count) == ([row], cut, 0)
        assert ("The time is inside 1 transaction" in text) is bool(cut)


def test_no_more_is_said_than_entries_tell() -> None:
    text, found = run(TWO)
    assert found.sentences() == []
    assert "-- The entries contradict nothing, and each row has all that its last entry has." in text
    head = text.partition("begin;")[0]
    assert all(word in head for word in ("filtered", "(columns)", "(ignore)", "record_when"))


def test_the_deepest_row_that_is_read_is_written() -> None:
    row = {"a": nested(499), "secret": 1}
    text, found = run(file_of(entry(1, "INSERT", "1", None, row, redactedFields=["secret"])))
    assert rows(text) == [{"a": nested(499)}]
    assert found.rows == 1


def test_a_redaction_that_is_a_number_of_many_digits_names_no_column() -> None:
    line = file_of(insert(1, 1, redactedFields=[])).replace(b"[]", b"[" + b"9" * 5000 + b"]")
    text, found = run(line)
    assert rows(text) == [{"id": 1}]
    assert found.redacted == {"9" * 100: 1}


def test_a_key_of_more_columns_than_a_table_can_have_is_not_learned() -> None:
    for parts, is_learned in ((32, True), (33, False)):
        image = {f"c{n}": n for n in range(parts)}
        key = RecordKey()
        key.learn(json.dumps(list(range(parts))), {name: str(value) for name, value in image.items()})
        assert [*key.keys(json.dumps(image))] == ([json.dumps(list(range(parts)))] if is_learned else [])


@pytest.mark.parametrize(
    ("fitting", "learned"),
    [
        (["ab", "a"], "a"),
        (["a", "ab"], "a"),
        (["a", "b"], "b"),
        (["a", "a", "b"], "b"),
        (["a", "a", "a", "b"], "a"),
        (["a", "a", "b", "b", "c"], "c"),
        (["ab", "ab", "ab", "b"], "b"),
        (["ab", "ab", "a", "b"], "b"),
    ],
)
def test_a_key_is_learned_until_enough_entries_in_a_row_fit_one_choice(
    fitting: list[str], learned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_key, "_ENOUGH", 2)
    key = RecordKey()
    for columns in fitting:
        key.learn("1", {name: "1" if name in columns else "0" for name in "abc"})
    assert [*key.keys('{"a": "a", "b": "b", "c": "c"}')] == [*learned]


def test_notes_name_as_many_columns_as_a_table_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_rows, "MOST_COLUMNS", 2)
    hidden = (["a", "b", "c"], ["b", "c"])
    _, found = run(file_of(*(insert(n, n, redactedFields=names) for n, names in enumerate(hidden, 1))))
    assert found.redacted == {"a": 1, "b": 2}


def test_a_row_that_moves_before_its_key_is_known_is_there_twice_and_told() -> None:
    first, second = {"a": "x" * 1001, "b": "y"}, {"a": "z" * 1001, "b": "y"}
    names = [bounded(f'["{image["a"]}", "y"]') for image in (first, second)]
    text, found = run(file_of(entry(1, "INSERT", names[0], None, first), entry(2, "UPDATE", names[1], first, second)))
    assert rows(text) == [first, second]
    assert (found.from_before.first, found.hidden.first) == ([names[1]], [names[1]])
    assert "If it moved there, its old row is there too" in text


def test_the_name_of_a_table_behind_many_others_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "_MOST_TABLES", 1)
    text = file_of(insert(1, 1), insert(2, 2, tableName="public.u"))
    assert rows(run(text, table="u")[0]) == [{"id": 2}]
    with pytest.raises(NotFoundError) as caught:
        run(text, table="v")
    assert caught.value.hint == "It has 'public.t'."


def test_entries_are_written_by_the_size_of_all_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_store, "_GROUP_BYTES", 1000)
    with entry_store.temporary_database() as conn:
        store = entry_store.EntryStore(conn)
        for number, name in enumerate(("recordId", "movedFrom", "partition"), 1):
            store.add(file_entry(Line(1, json.dumps(insert(number, 1) | {name: "x" * 1000}), is_ended=True)))
        assert conn.execute("select count(*) from entry").fetchone() == (3,)


def updates_of_one_record(count: int) -> list[dict[str, Any]]:
    return [entry(n, "UPDATE", "1", {"id": 1, "a": n}, {"id": 1, "a": -n}, xactId="7") for n in range(1, count)]


def inserts_of_one_record(count: int) -> list[dict[str, Any]]:
    made = [insert(n, 1) for n in range(1, count)]
    return made + [entry(count + n, "DELETE", "1", {"id": 1, "a": n}, None) for n in range(1, count)]


def test_a_truncate_of_a_partition_empties_that_one_alone() -> None:
    before = [insert(1, 1, partition="a"), insert(2, 2, partition="b")]
    for partition, kept in (("b", [1, 3]), ("a", [2, 3]), (None, [3])):
        emptied = entry(3, "TRUNCATE", None, None, None, partition=partition)
        text, _ = run(file_of(*before, emptied, insert(4, 3, partition="b")))
        assert rows(text) == [{"id": key} for key in kept]


@pytest.mark.parametrize("name", ["tableName", "timestamp", "recordId", "xactId"])
def test_an_entry_without_what_each_has_is_none(name: str) -> None:
    lacking = insert(1, 1)
    del lacking[name]
    with pytest.raises(SvcError, match=f"line 1 is no entry of an export: it has no {name}"):
        run(file_of(lacking))


@pytest.mark.parametrize(("added", "end"), [(MOST_NAMES, "'x'"), (MOST_NAMES + 1, "'x', ...")])
def test_names_that_are_not_shown_are_told_by_dots(added: int, end: str) -> None:
    names = Names()
    for _ in range(added):
        names.add("x")
    assert names.text == ", ".join(["'x'"] * (MOST_NAMES - 1) + [end])


def rows_without_a_key(count: int) -> list[dict[str, Any]]:
    gone = [entry(n, "DELETE", None, {"a": 1}, None) for n in range(1, count)]
    return gone + [entry(count + n, "INSERT", None, None, {"a": 1}) for n in range(1, count)]


def truncates_of_partitions(count: int) -> list[dict[str, Any]]:
    owed = [entry(n, "DELETE", str(n), {"id": n}, None, partition="a", xactId="7") for n in range(1, count)]
    owed += [insert(count + n, n, partition="a", xactId="7") for n in range(1, count)]
    return owed + [entry(2 * count + n, "TRUNCATE", None, None, None, partition="b") for n in range(1, count)]


def transactions_around_a_time(count: int) -> list[dict[str, Any]]:
    began = [insert(n, n, xactId=str(n)) for n in range(1, count)]
    return began + [entry(count + n, "DELETE", str(n), {"id": n}, None, xactId=str(n)) for n in range(1, count)]


@pytest.mark.parametrize(
    ("made", "is_inside"),
    [
        (updates_of_one_record, False),
        (inserts_of_one_record, False),
        (rows_without_a_key, False),
        (truncates_of_partitions, False),
        (transactions_around_a_time, True),
    ],
)
def test_the_work_grows_with_the_entries_and_not_with_their_square(
    made: Callable[[int], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch, *, is_inside: bool
) -> None:
    def steps(count: int) -> int:
        counted = 0

        def count_one() -> None:
            nonlocal counted
            counted += 1

        @contextmanager
        def counting() -> Iterator[sqlite3.Connection]:
            with entry_store.temporary_database() as conn:
                conn.set_progress_handler(count_one, 10)
                yield conn

        monkeypatch.setattr(rebuilding, "temporary_database", counting)
        run(file_of(*made(count)), at=START + timedelta(minutes=count) if is_inside else None)
        return counted

    assert steps(800) < 2.6 * steps(400)


def test_a_row_that_no_database_can_hold_is_said_and_left_out() -> None:
    text, found = run(
        file_of(
            insert(1, 1),
            *(entry(n, "INSERT", str(n), None, {"a": a}) for n, a in ((2, "\0"), (3, "\ud800"), (4, "\\u0000"))),
        )
    )
    assert rows(text.replace("\\\\", "\\")) == [{"id": 1}, {"a": "\\u0000"}]
    assert found.unstorable.first == ["2", "3"]


@pytest.mark.parametrize(
    "value",
    [
        '"\\u0000", "a": 1',
        '"\\ud800", "a": 1',
        '"\\ud83d \\ude00"',
        '"\\ude00\\ud83d"',
        '"\\ud83d\\ud83d\\ude00"',
        '{"\\\\\\u0000": 1}',
        "1e131072",
        "-12.5E+131071",
        "1e-16384",
        '1e200000, "a": 1',
        "1e9999999999",
        "[" + "9" * 131_073 + "]",
        "0." + "0" * 16_384,
    ],
)
def test_what_no_jsonb_can_hold_is_left_out(value: str) -> None:
    line = file_of(insert(1, 1)).replace(b'{"id": 1}', b'{"a": %b}' % value.encode())
    text, found = run(line)
    assert (rows(text), found.unstorable.first) == ([], ["1"])
    assert "too large a number" in text


@pytest.mark.parametrize(
    "value",
    [
        '"\\ud83d\\ude00\\\\u0000"',
        "1e131071",
        "0.1e131072",
        "-12.5E+131070",
        "1e-16383",
        "0e200000",
        "9" * 131_072,
        "0." + "0" * 16_383,
        '"1e200000"',
    ],
)
def test_what_a_jsonb_can_hold_is_written(value: str) -> None:
    line = file_of(insert(1, 1)).replace(b'{"id": 1}', b'{"a": %b}' % value.encode())
    text, found = run(line)
    assert (found.rows, found.unstorable.count) == (1, 0)
    assert value in text.replace("\\\\", "\\")


def test_a_time_without_a_year_in_utc_is_refused() -> None:
    with pytest.raises(QueryError, match="no year in UTC"):
        run(TWO, at=datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))))


def test_no_name_ends_a_comment() -> None:
    name = 'public."x\n; drop table y; --\u2028\x1b"'
    text, _ = run(file_of(insert(1, 1, tableName=name, redactedFields=["a\ndrop table z;"])))
    head, _, rest = text.partition("begin;")
    assert all(line.startswith("-- ") for line in head.splitlines() if line)
    tail = rest.partition("commit;")[2]
    assert all(line.startswith("-- ") for line in tail.splitlines() if line)
