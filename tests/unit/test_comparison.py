"""The states of objects, from what is wanted, found in a catalog and recorded."""

from dataclasses import replace

from svc_pg.rendering.schema_objects import SchemaObject
from svc_pg.schema.comparison import Found, Recorded, compare

ITEM = SchemaObject("trigger", "t on main.a", "create trigger t", audited_table="main.a")
FOUND = Found("trigger", ITEM.identity, "c1", "drop trigger t", table="main.a")
NOTE = Recorded("trigger", ITEM.identity, "main.a", ITEM.source_sha256, "c1")


def state(found: list[Found], recorded: list[Recorded], *, rewrites: bool = False) -> str:
    [status] = compare([ITEM], found, recorded, rewrites=rewrites)
    assert status.item is ITEM
    assert (status.sql, status.audited_table) == (ITEM.sql, "main.a")
    return status.state


def test_the_state_of_a_wanted_object() -> None:
    assert state([FOUND], [NOTE]) == "ok"
    assert state([], []) == "missing"
    assert state([], [NOTE]) == "missing"
    assert state([FOUND], []) == "tampered"
    assert state([replace(FOUND, sha256="c2")], [NOTE]) == "tampered"
    assert state([FOUND], [replace(NOTE, source_sha256="other")]) == "outdated"


def test_what_the_database_rewrote_for_a_renamed_column_is_outdated_and_not_tampered_with() -> None:
    rewritten, outdated = replace(FOUND, sha256="c2"), replace(NOTE, source_sha256="other")
    assert state([rewritten], [outdated], rewrites=True) == "outdated"
    assert state([rewritten], [outdated]) == "tampered"
    assert state([rewritten], [NOTE], rewrites=True) == "tampered"


def test_what_another_version_of_the_server_printed_is_outdated() -> None:
    assert state([replace(FOUND, sha256="c2")], [replace(NOTE, is_comparable=False)]) == "outdated"


def test_a_trigger_that_is_switched_off_is_disabled_whatever_it_says() -> None:
    assert state([replace(FOUND, sha256="c2", is_disabled=True)], [NOTE]) == "disabled"


def test_a_trigger_without_a_record_is_of_the_table_of_the_function_that_it_calls() -> None:
    called = replace(NOTE, kind="function", identity="svc.f")
    moved = replace(FOUND, identity="t on main.b", table="main.b", function="svc.f")
    function = Found("function", "svc.f", "c1", "drop function f")
    trigger, orphan = compare([], [moved, function], [called])
    assert (trigger.audited_table, trigger.moved_to) == ("main.a", "main.b")
    assert (orphan.kind, orphan.is_foreign) == ("function", False), "triggers go first"
    stranger, unknown = compare([], [moved, function], [])
    assert (stranger.audited_table, unknown.is_foreign) == (None, True)


def test_an_object_that_nobody_wants_is_an_orphan_with_the_sql_that_drops_it() -> None:
    [status] = compare([], [FOUND], [NOTE])
    assert (status.state, status.sql, status.audited_table) == ("orphan", "drop trigger t", "main.a")
    assert status.needs_prune
    [unrecorded] = compare([], [FOUND], [])
    assert (unrecorded.state, unrecorded.audited_table) == ("orphan", "main.a")


def test_a_record_of_what_is_gone_is_an_orphan_with_nothing_to_drop() -> None:
    [status] = compare([], [], [NOTE])
    assert (status.state, status.sql) == ("orphan", "")


def test_an_orphan_whose_table_is_audited_is_superseded() -> None:
    other = replace(ITEM, identity="other on main.a")
    assert [entry.is_superseded for entry in compare([other], [FOUND], [NOTE])] == [False, True]


def test_a_trigger_that_moved_with_its_table_says_where_to() -> None:
    moved = replace(FOUND, identity="t on main.b", table="main.b", recorded_as=ITEM.identity)
    [status] = compare([], [moved], [NOTE])
    assert (status.state, status.audited_table, status.moved_to) == ("orphan", "main.a", "main.b")
    assert not status.is_superseded
    wanted = replace(ITEM, identity="t on main.b", audited_table="main.b")
    missing, orphan = compare([replace(wanted, identity="u on main.b")], [moved], [NOTE])
    assert (missing.state, orphan.is_superseded, orphan.moved_to) == ("missing", True, "main.b")
