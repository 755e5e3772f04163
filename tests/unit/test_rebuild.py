"""Rebuild rows from a file that somebody else made: what is refused, and what is said."""

import gzip
import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from svc_pg.audit.rebuild import export_lines
from svc_pg.audit.rebuild.findings import Findings
from svc_pg.audit.rebuild.rebuilding import rebuild
from svc_pg.errors import SvcError
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
        (file_of(insert(1, 1, id="9" * 5000)), "its id is no number"),
        (file_of(insert(1, 1, timestamp="2026-01-01")), "its timestamp has no time zone"),
        (file_of(insert(1, 1, operation="MERGE")), "its operation is unknown"),
        (file_of(insert(1, 1, recordId="\ud800")), "line 1 is no entry"),
        (file_of(entry(1, "INSERT", "1", None, [1])), "its afterData is no object"),
        (file_of(insert(1, 1, tableName="x" * 64)), "longer than a name"),
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


def test_no_more_is_said_than_entries_tell() -> None:
    text, found = run(TWO)
    assert found.sentences() == []
    assert "-- The entries contradict nothing, and each row has all that its last entry has." in text
    head = text.partition("begin;")[0]
    assert all(word in head for word in ("filtered", "(columns)", "(ignore)", "record_when"))


def test_a_row_that_no_database_can_hold_is_said_and_left_out() -> None:
    text, found = run(
        file_of(
            insert(1, 1),
            *(entry(n, "INSERT", str(n), None, {"a": a}) for n, a in ((2, "\0"), (3, "\ud800"), (4, "\\u0000"))),
        )
    )
    assert rows(text.replace("\\\\", "\\")) == [{"id": 1}, {"a": "\\u0000"}]
    assert found.unstorable.first == ["2", "3"]


def test_no_name_ends_a_comment() -> None:
    name = 'public."x\n; drop table y; --\u2028\x1b"'
    text, _ = run(file_of(insert(1, 1, tableName=name, redactedFields=["a\ndrop table z;"])))
    head, _, rest = text.partition("begin;")
    assert all(line.startswith("-- ") for line in head.splitlines() if line)
    tail = rest.partition("commit;")[2]
    assert all(line.startswith("-- ") for line in tail.splitlines() if line)
