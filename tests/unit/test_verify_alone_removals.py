"""The verifier in one file takes from purges and erasures what their sealed entries say, and not more."""

import base64
import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from svc_pg.audit import SealKey
from svc_pg.seals.alone import verify_svc_pg as alone

KEY: Final = SealKey("s1", b"k" * 32)
TIME: Final = "2026-01-05T09:30:00.000000Z"
LOG: Final = {"tableName": '"svc.audit_logs"', "recordId": "null"}
TOMBSTONE: Final = {"afterData": '{"erased": true}', "description": '"Erased"', "redactedFields": '["*"]'}


def line(key: int, **members: str) -> str:
    values = dict.fromkeys(alone.MEMBERS, "null") | {
        "id": f'"{key}"',
        "timestamp": f'"{TIME}"',
        "tableName": '"public.t"',
        "operation": '"UPDATE"',
        "recordId": f'"{key}"',
        "afterData": '{"a": 1}',
        "xactId": '"10"',
    }
    return "{" + ",".join(f'"{name}":{value}' for name, value in (values | members).items()) + "}"


def erasure(key: int, *erased: str) -> str:
    """The entry about an erasure that leaves these entries as they are."""
    return line(key, **LOG, label='"audit log erased"', beforeData=json.dumps({"digest": digest_of_list(erased)}))


def purge(key: int, **facts: object) -> str:
    return line(key, **LOG, operation='"DELETE"', label='"audit log purged"', beforeData=json.dumps(facts))


def listed(entry: str, *, is_erased: bool) -> dict[str, Any]:
    """An item of the list of a removal."""
    read = alone.read_entry(entry)
    digest = sha256(read.content.encode()).digest() if is_erased else read.leaf[16:]
    return {"time": read.time, "entry": read.id, "digest": digest.hex()}


def digest_of_list(entries: Iterable[str], *, is_erased: bool = True) -> str:
    items = [listed(each, is_erased=is_erased) for each in entries]
    packed = [alone.LEAF.pack(each["entry"], each["time"], bytes.fromhex(each["digest"])) for each in items]
    return sha256(b"".join(packed)).hexdigest()


def kept(removal: str) -> dict[str, Any]:
    """A removal as it is kept beside the log."""
    read = alone.read_entry(removal)
    return {"removal": read.id, "time": read.time, "who": read.who, "content": read.content}


def result_of(
    folder: Path,
    sealed: Sequence[str],
    exported: Sequence[str],
    removals: Iterable[dict[str, Any]] = (),
    *,
    added: bytes = b"",
    **period: Any,
) -> alone.Verification:
    """Verify an export by one seal of these entries, of the transactions 10 to 19."""
    leaves = [alone.read_entry(each).leaf for each in sealed]
    seal = {
        "kind": "svc-pg audit seal", "version": 2, "number": 1, "previous": "0" * 64, "key_id": "s1", "epoch": "e",
        "epoch_began_at": None, "from_xact_id": 10, "until_xact_id": 20, "after_id": 0, "until_id": 10_000,
        "entries": len(leaves), "root": alone.root_of(leaves).hex(), "sealed_at": TIME.replace("09:30", "10:00"),
    }  # fmt: skip
    text = json.dumps(seal, separators=(",", ":"), sort_keys=True)
    encoded = {"signature": KEY.sign(text), "leaves": b"".join(leaves) + added}
    lines = [*removals, {"text": text} | {name: base64.b64encode(value).decode() for name, value in encoded.items()}]
    (folder / "seals").write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines))
    (folder / "export").write_text("".join(f"{each}\n" for each in exported))
    (folder / "key").write_text(KEY.public.text)
    return alone.verify(folder / "export", folder / "seals", folder / "key", **period)


def said(found: alone.Verification) -> list[tuple[str, int | None]]:
    return [(each["kind"], each["entry"]) for each in found.findings]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"description": '"Forged"'}, [("changed", 1)]),
        ({"afterData": '{"a": 2}'}, [("changed", 1)]),
        ({"context": '{"erasure": 4}'}, [("changed", 1)]),
        ({"recordId": '"bob"'}, [("changed", 1)]),
    ],
)
def test_an_erasure_leaves_nothing_but_a_tombstone(
    tmp_path: Path, change: dict[str, str], expected: list[tuple[str, int]]
) -> None:
    """Even if its own sealed entry says that it left something else."""
    leaf = sha256(alone.read_entry(line(1)).content.encode()).hexdigest()
    left = {**TOMBSTONE, "context": '{"erasure": 3}', "erasedLeaf": f'"{leaf}"'}
    left |= change
    erased = line(1, **left)
    told = erasure(3, erased)
    items = [kept(told), {"removal": 3, **listed(erased, is_erased=True)}]
    found = result_of(tmp_path, [line(1), line(2), told], [erased, line(2), told], items)
    assert said(found) == expected
    assert (found.entries, found.erased) == (3 - len(expected), 1)


def test_a_tombstone_is_the_one_that_its_erasure_left(tmp_path: Path) -> None:
    leaf = sha256(alone.read_entry(line(1)).content.encode()).hexdigest()
    left = {**TOMBSTONE, "context": '{"erasure": 3}', "erasedLeaf": f'"{leaf}"'}
    erased = line(1, **left)
    told = erasure(3, erased)
    items = [kept(told), {"removal": 3, **listed(erased, is_erased=True)}]
    other = line(1, **left, beforeData='{"erased": true}')
    assert said(result_of(tmp_path, [line(1), told], [other, told], items)) == [("changed", 1)]


def test_an_entry_that_was_erased_before_its_seal_needs_no_erasure(tmp_path: Path) -> None:
    erased = line(1, **TOMBSTONE, erasedLeaf='""')
    found = result_of(tmp_path, [erased], [erased])
    assert (said(found), found.entries, found.erased) == ([], 1, 1)


def test_contents_that_an_erasure_took_may_not_be_back(tmp_path: Path) -> None:
    leaf = sha256(alone.read_entry(line(1)).content.encode()).hexdigest()
    erased = line(1, **TOMBSTONE, context='{"erasure": 3}', erasedLeaf=f'"{leaf}"')
    told = erasure(3, erased)
    items = [kept(told), {"removal": 3, **listed(erased, is_erased=True)}]
    found = result_of(tmp_path, [line(1), told], [line(1), told], items)
    assert found.findings[0]["message"] == "entry 1 was changed: it has its contents, which erasure 3 took away"
    assert said(found) == [("changed", 1)]


def test_a_list_explains_the_entries_that_a_purge_took(tmp_path: Path) -> None:
    told = purge(3, digest=digest_of_list([line(1)], is_erased=False))
    items = [kept(told), {"removal": 3, **listed(line(1), is_erased=False)}]
    found = result_of(tmp_path, [line(1), line(2), told], [line(2), told], items)
    assert (said(found), found.purged, found.entries) == ([], 1, 2)
    assert said(result_of(tmp_path, [line(1), line(2), told], [told], items)) == [("deleted", 2)]
    other = line(1, afterData='{"a": 2}')
    assert said(result_of(tmp_path, [other, told], [told], items)) == [("deleted", 1)]


def test_a_purge_does_not_explain_an_entry_that_was_dated_back_for_it(tmp_path: Path) -> None:
    redated = line(1, timestamp=f'"{TIME.replace("2026", "2025")}"')
    told = purge(3, digest=digest_of_list([redated], is_erased=False))
    items = [kept(told), {"removal": 3, **listed(redated, is_erased=False)}]
    found = result_of(tmp_path, [line(1), told], [told], items)
    assert (said(found), found.purged) == ([("deleted", 1)], 0)


def test_the_list_of_an_erasure_explains_no_entry_that_is_gone(tmp_path: Path) -> None:
    told = line(
        3,
        **LOG,
        label='"audit log erased"',
        beforeData=json.dumps({"digest": digest_of_list([line(1)], is_erased=False)}),
    )
    items = [kept(told), {"removal": 3, **listed(line(1), is_erased=False)}]
    assert said(result_of(tmp_path, [line(1), told], [told], items)) == [("deleted", 1)]


def test_an_entry_that_is_no_deletion_tells_of_no_purge(tmp_path: Path) -> None:
    told = purge(3, digest=digest_of_list([line(1)], is_erased=False)).replace('"DELETE"', '"INSERT"')
    items = [kept(told), {"removal": 3, **listed(line(1), is_erased=False)}]
    assert said(result_of(tmp_path, [line(1), told], [told], items)) == [("deleted", 1)]


def test_newer_entries_that_tell_of_no_removal_prove_enough(tmp_path: Path) -> None:
    others = [line(5, **LOG, label='"audit log held"'), line(6, label='"audit log purged"')]
    newer = [each.replace('"xactId":"10"', '"xactId":"20"') for each in others]
    found = result_of(tmp_path, [line(1)], [line(1), *newer])
    assert (said(found), found.unsealed, found.unproven, found.is_proven) == ([], 2, 0, True)


def test_up_to_twenty_entries_without_a_seal_are_all_named(tmp_path: Path) -> None:
    newer = [line(key, xactId='"20"') for key in range(2, 23)]
    for count_of_newer, end in ((20, ", 21 (line 21); from"), (21, ", 21 (line 21) and 1 more; from")):
        found = result_of(tmp_path, [line(1)], [line(1), *newer[:count_of_newer]])
        assert end in found.notes[1]


def test_one_entry_of_the_period_without_a_seal_is_enough_to_doubt(tmp_path: Path) -> None:
    newer = line(2, xactId='"20"')
    found = result_of(tmp_path, [line(1)], [line(1), newer], until=alone.microseconds(TIME) + 1)
    assert (said(found), found.is_behind, found.is_proven) == ([], True, False)
    assert "because 1 entries of that time have no seal" in found.notes[-1]


def test_the_list_of_a_purge_may_be_gone_and_that_of_an_erasure_not(tmp_path: Path) -> None:
    told = purge(3, digest=digest_of_list([line(1)], is_erased=False))
    assert said(result_of(tmp_path, [told], [told], [kept(told)])) == []
    told = erasure(3, line(1))
    found = result_of(tmp_path, [told], [told], [kept(told)])
    assert [(each["kind"], each["seal"], each["entry"]) for each in found.findings] == [("removal_claimed", 1, 3)]


def test_a_dropped_partition_explains_older_entries_of_its_time(tmp_path: Path) -> None:
    told = purge(3, **{"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"})
    after = line(2, timestamp='"2026-02-01T00:00:00.000000Z"')
    found = result_of(tmp_path, [line(1), after, told, line(4)], [told])
    assert (said(found), found.purged) == ([("deleted", 2), ("deleted", 4)], 1)


def test_the_seal_of_a_purge_that_was_purged_too_proves_it(tmp_path: Path) -> None:
    told = purge(3, **{"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"})
    later = purge(5, **{"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"})
    found = result_of(tmp_path, [line(1), told, later], [later], [kept(told), kept(later)])
    assert (said(found), found.purged) == ([], 2)
    found = result_of(tmp_path, [line(1), later], [later], [kept(told)])
    assert said(found) == [("removal_claimed", 3)]
    forged = kept(later) | {"time": 1}
    assert said(result_of(tmp_path, [line(1), later], [later], [forged])) == [("removal_claimed", 5)]


def test_a_purge_that_was_purged_too_explains_none_but_older_entries(tmp_path: Path) -> None:
    told = purge(3, **{"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"})
    newer = line(4, timestamp='"2026-01-06T09:30:00.000000Z"')
    later = purge(5, **{"from": "2026-01-05T00:00:00Z", "before": "2026-01-06T00:00:00Z"})
    found = result_of(tmp_path, [line(1), told, newer, later], [later], [kept(told)])
    assert (said(found), found.purged) == ([("deleted", 4)], 2)


def test_leaves_without_the_root_of_their_seal_prove_no_purge(tmp_path: Path) -> None:
    told = purge(3, **{"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"})
    added = alone.read_entry(told).leaf
    found = result_of(tmp_path, [line(1), line(2)], [line(2)], [kept(told)], added=added)
    assert (sorted(said(found)), found.purged) == ([("entries_differ", None), ("removal_claimed", 3)], 0)


def test_a_purge_outside_of_the_period_must_be_newer_than_the_last_seal(tmp_path: Path) -> None:
    start = alone.microseconds("2026-01-06T00:00:00.000000Z")
    facts = {"from": "2026-01-01T00:00:00Z", "before": "2026-02-01T00:00:00Z"}
    found = result_of(tmp_path, [line(1)], [], [kept(purge(3, **facts))], since=start)
    assert (said(found), found.unproven) == ([("removal_claimed", 3)], 0)
    newer = purge(3, **facts).replace('"xactId":"10"', '"xactId":"20"')
    found = result_of(tmp_path, [line(1)], [], [kept(newer)], since=start)
    assert (said(found), found.unproven, found.is_proven) == ([], 1, False)
    found = result_of(tmp_path, [line(1)], [], [kept(newer)])
    assert ("removal_claimed", 3) in said(found)


def test_a_changed_entry_is_named_as_such_in_a_period_that_it_left(tmp_path: Path) -> None:
    first, last = (alone.microseconds(f"2026-01-0{day}T00:00:00.000000Z") for day in (5, 6))
    redated = line(1, timestamp=f'"{TIME}"')
    sealed = [line(1, timestamp='"2026-01-04T09:30:00.000000Z"'), line(2)]
    assert said(result_of(tmp_path, sealed, [redated, line(2)], since=first, until=last)) == [("redated", 1)]
    assert said(result_of(tmp_path, sealed, [line(2)], since=first, until=last)) == []


def test_the_transaction_of_a_changed_entry_is_told_if_it_left_its_seal(tmp_path: Path) -> None:
    for forged, told in ((line(1, xactId='"30"'), "; its transaction is 30 now"), (line(1, xactId='"11"'), "")):
        [finding] = result_of(tmp_path, [line(1), line(2)], [forged, line(2)]).findings
        assert (finding["kind"], finding["message"].partition(" and is ")[2][16:]) == ("changed", told)


def test_each_of_several_entries_of_one_id_is_named(tmp_path: Path) -> None:
    forged = [line(1, afterData=f'{{"a": {number}}}') for number in (2, 3, 3)]
    found = result_of(tmp_path, [line(1), line(2)], [*forged, line(2)])
    assert sorted(said(found)) == [("changed", 1), ("inserted", 1), ("inserted", 1)]
    assert found.entries == 1


def test_an_entry_in_the_part_of_no_seal_is_told(tmp_path: Path) -> None:
    found = result_of(tmp_path, [line(1)], [line(1), line(2, xactId='"5"')])
    assert [each["message"] for each in found.findings] == ["1 entries are in the part of no seal"]


def test_findings_end_after_a_thousand(tmp_path: Path) -> None:
    entries = [line(key) for key in range(1, 1200)]
    found = result_of(tmp_path, entries, entries[:10])
    assert (len(found.findings), found.is_complete, found.is_proven) == (1000, False, False)


@pytest.mark.parametrize("query", ["_ERASURE", "_IS_PURGED", "_RETURNED"])
def test_the_work_of_a_query_grows_no_faster_than_hostile_lists_and_entries_of_one_id(query: str) -> None:
    """A list of a removal, which no seal need have, can repeat an id, and so can the export."""

    def steps(rows: int) -> int:
        with closing(sqlite3.connect("", isolation_level=None)) as store:
            store.executescript(alone._TABLES)
            for number in range(rows):
                store.execute("insert into entry (id, time, erased) values (1, 1, '')")
                store.execute("insert into entry (id, time) values (1, ?)", (number + 2,))
                store.execute("insert into removed values (?, 1, 1, null, null)", (number % 2,))
                store.execute("insert into removed values (?, 1, ?, null, null)", (number % 3, -number))
            store.execute("insert into listed values (0, false), (1, true)")
            store.executescript(f"{alone._INDEXES} {alone._LISTED}")
            done = count()
            store.set_progress_handler(lambda: next(done) and None, 1)
            values = {"id": 1, "time": 1, "digest": b""}
            store.execute(getattr(alone, query).replace("?", ":id"), values).fetchone()
            return next(done)

    assert steps(800) < 3 * steps(400)


def test_a_list_that_repeats_an_entry_finds_its_contents_once() -> None:
    with closing(sqlite3.connect("", isolation_level=None)) as store:
        store.executescript(alone._TABLES)
        store.execute("insert into entry (id, time) values (1, 1), (1, 1), (2, 1)")
        store.execute("insert into removed values (8, 1, 1, null, null), (8, 1, 1, null, null), (9, 2, 1, null, null)")
        store.execute("insert into listed values (8, true)")
        store.executescript(f"{alone._INDEXES} {alone._LISTED}")
        assert store.execute(alone._RETURNED).fetchall() == [(1, 8)]
