"""The laws of every audit log, as checks for a log on a new database.

Each of ``CHECKS`` takes a database that ``svc_pg.testing.audited_database.prepare`` has just made, and raises
AssertionError if a law does not hold. The laws cover reading, selecting, writing, naming actors, exporting, following
and purging, but no abilities of some databases alone.
"""

import io
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Final, Literal, LiteralString

from svc_pg import audit
from svc_pg.audit import AuditQuery, Entry, ExportReport
from svc_pg.audit.exports.following import following_lines, identity
from svc_pg.audit.read.last_changes import change_of
from svc_pg.audit.read.log_position import START
from svc_pg.errors import SvcError
from svc_pg.testing.audited_database import AuditedDatabase

_READ: Final[LiteralString] = "select count(*) from {}"
_TAMPERING: Final[Sequence[LiteralString]] = ("update {} set actor_id = 'mallory'", "delete from {}")
_DROP: Final[LiteralString] = "drop table conformance"
_PAUSE: Final = timedelta(milliseconds=10)
_SETTLED_WITHIN: Final = 30.0
"""Seconds after a commit within which an entry is settled, if no older transaction runs."""


def check_every_change_is_there_once(database: AuditedDatabase) -> None:
    """The entries are the changes, in their order, with their actors and both images."""
    found = [(each.operation, each.record_id, each.actor_id, each.tenant_id) for each in database.entries()]
    expected = [
        ("INSERT", "1", "ann", "acme"),
        ("INSERT", "2", "ann", "acme"),
        ("UPDATE", "1", "bob", "globex"),
        ("UPDATE", "2", None, None),
        ("UPDATE", "1", "bob", "globex"),
        ("DELETE", "2", "ann", "acme"),
    ]
    _expect("the entries", found, expected)
    edited = database.entries()[2]
    before, after = dict(edited.before_data or {}), dict(edited.after_data or {})
    _expect("the images", (before["state"], after["state"]), ("new", "paid"))
    _expect("a redacted value", (before["name"], edited.redacted_fields), ("[masked]", ["name"]))
    _expect("the rules", (edited.changed_fields, edited.label, edited.severity), (["state"], "edited", "medium"))
    _expect("the context", dict(edited.context or {}), {"request_id": "r-bob"})


def check_each_filter_selects_what_it_says(database: AuditedDatabase) -> None:
    """A filter gives exactly the entries with the value, alone and with another filter."""
    entries, one = database.entries(), audit.query()
    table, middle = entries[0].table_name, entries[3].timestamp
    ranks = {"low": 0, "medium": 1, "high": 2, "critical": 3}
    filters: Sequence[tuple[str, AuditQuery, Callable[[Entry], bool]]] = (
        ("resource", one.resource(table), lambda _: True),
        ("another resource", one.resource(f"{table}s"), lambda _: False),
        ("record", one.resource(table).record(1), lambda each: each.record_id == "1"),
        ("actor", one.actor("ann"), lambda each: each.actor_id == "ann"),
        ("actors", one.actor("ann", "bob"), lambda each: each.actor_id is not None),
        ("tenant", one.tenant("globex"), lambda each: each.tenant_id == "globex"),
        ("db_user", one.db_user(entries[0].db_user or "no user"), lambda each: each.db_user is not None),
        ("another user", one.db_user("nobody of this name"), lambda _: False),
        ("operation", one.operation("INSERT", "DELETE"), lambda each: each.operation != "UPDATE"),
        ("label", one.label("edited"), lambda each: each.label == "edited"),
        ("severity", one.severity("critical"), lambda each: each.severity == "critical"),
        ("at_least", one.severity(at_least="medium"), lambda each: ranks.get(each.severity or "", -1) >= 1),
        ("compliance", one.compliance("gdpr"), lambda each: "gdpr" in (each.compliance or ())),
        ("changed", one.changed("name"), lambda each: "name" in (each.changed_fields or ())),
        ("missing", one.missing("actor"), lambda each: each.actor_id is None),
        ("missing two", one.missing("label", "severity"), lambda each: each.label is each.severity is None),
        ("without", one.without(actor=["ann"]), lambda each: each.actor_id != "ann"),
        ("without tags", one.without(compliance=["soc2"]), lambda each: "soc2" not in (each.compliance or ())),
        ("since", one.since(middle), lambda each: each.timestamp >= middle),
        ("until", one.until(middle), lambda each: each.timestamp < middle),
        ("ago", one.since("1h"), lambda _: True),
        ("long ago", one.until("1h"), lambda _: False),
        ("transactions", one.transactions(since=0), lambda each: each.xact_id is not None),
        ("transactions of before", one.transactions(before=1), lambda _: False),
        ("any database", one.of_any_database().resource(table), lambda _: True),
        ("two", one.actor("bob").changed("name"), lambda each: each.id == entries[4].id),
    )
    for name, query, has in filters:
        found = [each.id for each in database.entries(query.order("oldest"))]
        _expect(name, found, [each.id for each in entries if has(each)])


def check_pages_have_each_entry_once(database: AuditedDatabase) -> None:
    """Forwards by ``next_cursor`` and backwards by ``prev_cursor``, in both orders."""
    whole = database.ids()
    for order, expected in (("oldest", whole), ("newest", whole[::-1])):
        query = audit.query().order(order).limit(4)
        with database.transaction():
            first = query.list(database.conn)
            second = query.after(first.next_cursor or "").list(database.conn)
            again = query.before(second.prev_cursor or "").list(database.conn)
        _expect(f"{order} first", [each.id for each in (*first, *second)], expected)
        _expect(f"{order} first, backwards", [each.id for each in again], expected[:4])
        _expect("cursors at the ends", (first.prev_cursor, second.next_cursor), (None, None))
    with _refused("a cursor that is none"), database.transaction():
        audit.query().after("nonsense").list(database.conn)


def check_fields_that_are_not_asked_for_are_not_read(database: AuditedDatabase) -> None:
    """``only`` reads these fields, and the three that every entry has."""
    [entry] = database.entries(audit.query().only("operation").limit(1))
    _expect("the field", entry.operation, "DELETE")
    there = [name for name in ("id", "timestamp", "table_name", "before_data", "actor_id") if hasattr(entry, name)]
    _expect("the attributes", there, ["id", "timestamp", "table_name"])


def check_an_actor_ends_with_its_block(database: AuditedDatabase) -> None:
    """Also if the block fails, and the one around it comes back."""
    with database.transaction(), audit.actor(database.conn, "outer"):
        with suppress(KeyError), audit.actor(database.conn, "inner"):
            raise KeyError
        named = audit.capture_log(database.conn, "ledger", "UPDATE")
    nobody = _captured(database)
    found = {each.id: each.actor_id for each in database.entries(audit.query().label("uploaded"))}
    found |= {each.id: each.actor_id for each in database.entries(audit.query().actor("outer", "inner"))}
    _expect("the actors", found, {named: "outer", nobody: None})


def check_the_last_changes_of_a_record_are_told(database: AuditedDatabase) -> None:
    """Newest first, and a wrong table name is an error, not an empty answer."""
    table = database.entries()[0].table_name
    with database.transaction():
        changes = audit.last_changes(database.conn, table, 1, limit=2)
        _expect("of a record", [(each.operation, each.actor) for each in changes], [("UPDATE", "bob")] * 2)
        _expect("the fields", [field.name for field in changes[0].fields], ["name", "state"])
        _expect("of no record", audit.last_changes(database.conn, table, 404), [])
    with _refused("a table that does not exist"), database.transaction():
        audit.last_changes(database.conn, f"{table}s", 1)


def check_a_table_that_is_gone_is_known_by_its_entries(database: AuditedDatabase) -> None:
    """The last changes of its records are told, and a record without any is no error."""
    table = database.entries()[0].table_name
    database.execute(_DROP)
    with database.transaction():
        changes = audit.last_changes(database.conn, table, 2)
        _expect("of a record", changes[0].operation, "DELETE")
        _expect("of no record", audit.last_changes(database.conn, table, 404), [])


def check_one_entry_is_told_as_a_change(database: AuditedDatabase) -> None:
    """With the same fields as in the last changes of its record; no entry is None."""
    entries = database.entries()
    with database.transaction():
        change = change_of(database.conn, int(entries[4].id))
        [newest] = audit.last_changes(database.conn, entries[4].table_name, 1, limit=1)
        _expect("the change", change and replace(change, age=newest.age), newest)
        _expect("of no entry", change_of(database.conn, int(entries[-1].id) + 1000), None)


def check_an_entry_that_an_application_writes_is_whole(database: AuditedDatabase) -> None:
    """It has what the application gave, and the actor of its transaction."""
    with database.transaction(), audit.actor(database.conn, "ann", tenant="acme"):
        written = audit.capture_log(
            database.conn,
            "ledger",
            "UPDATE",
            record_id="7",
            before={"total": 12.5},
            after={"total": None, "note": "näher"},
            label="corrected",
            severity="high",
            compliance=["soc2"],
            description="A total was wrong.",
        )
    [entry] = database.entries(audit.query().label("corrected"))
    _expect("the id", entry.id, written)
    _expect("the event", (entry.operation, entry.record_id, entry.actor_id), ("UPDATE", "7", "ann"))
    images = dict(entry.before_data or {}), dict(entry.after_data or {})
    _expect("the images", images, ({"total": 12.5}, {"total": None, "note": "näher"}))
    words = entry.severity, list(entry.compliance or ()), entry.description
    _expect("the words", words, ("high", ["soc2"], "A total was wrong."))
    with _refused("another operation"), database.transaction():
        audit.capture_log(database.conn, "ledger", "GONE")


def check_an_export_has_every_entry_and_the_next_goes_on(database: AuditedDatabase) -> None:
    """Complete, oldest first, up to the horizon; and after a horizon exactly the entries since."""
    whole = database.ids()
    ids, report = _exported(database, "ndjson")
    _expect("lines", ids, whole)
    _expect("the report", (report.entries, report.held_back), (len(whole), 0))
    new = _captured(database)
    _expect("lines since", _exported(database, "ndjson", after=report.horizon)[0], [new])
    _expect("an array", _exported(database, "json")[0], [*whole, new])


def _exported(
    database: AuditedDatabase, form: Literal["ndjson", "json"], *, after: str | None = None
) -> tuple[list[str], ExportReport]:
    limit = time.monotonic() + _SETTLED_WITHIN
    while True:
        out = io.BytesIO()
        report = audit.export(database.conn, audit.query(), format=form, out=out, after=after)
        if not report.held_back or time.monotonic() > limit:
            break
        time.sleep(_PAUSE.total_seconds())
    texts = out.getvalue().splitlines() if form == "ndjson" else [out.getvalue()]
    found = [json.loads(text) for text in texts]
    return [each["id"] for each in (found if form == "ndjson" else found[0])], report


def check_a_follower_gets_what_comes_and_nothing_twice(database: AuditedDatabase) -> None:
    """The newest page and then the new entries; and lines after a cursor without a gap."""
    whole, _ = _exported(database, "ndjson")  # so all are settled
    with closing(audit.follow(database.conn, audit.query().limit(2), pause=_PAUSE)) as followed:
        seen = [each.id for each in islice(followed, 2)]
        new = _captured(database)
        _expect("entries", [*seen, next(followed).id], [*whole[-2:], new])
    ids, cursor = _lines(database, START)
    _expect("lines", ids, [*whole, new])
    newer = _captured(database)
    _exported(database, "ndjson")
    _expect("lines since", _lines(database, cursor)[0], [newer])


def _lines(database: AuditedDatabase, cursor: str) -> tuple[list[str], str]:
    """The ids of all lines after a cursor, and the cursor after them."""
    ids: list[str] = []
    with closing(following_lines(database.conn, audit.query(), cursor=cursor)) as lines:
        for part in lines:
            ids += [json.loads(line)["id"] for line in part.text.splitlines()]
            if part.is_end:
                return ids, part.cursor
    raise AssertionError("a follower has no end")


def check_a_purge_takes_nothing_of_today(database: AuditedDatabase) -> None:
    """Dry or not, it leaves all entries; and an age below a day is refused."""
    whole = database.ids()
    for is_dry in (True, False):
        report = audit.purge(database.conn, timedelta(days=1), dry_run=is_dry)
        _expect("the report", (report.entries, report.partitions, report.postponed), (0, [], []))
    _expect("the log", database.ids()[: len(whole)], whole)
    with _refused("an age below a day"):
        audit.purge(database.conn, timedelta(hours=1))


def check_no_statement_changes_or_removes_an_entry(database: AuditedDatabase) -> None:
    """The log has guards against every writer."""
    whole = database.entries()
    database.execute(_READ.format(database.log))  # or a statement might be refused for the name alone
    for statement in (each.format(database.log) for each in _TAMPERING):
        try:
            database.execute(statement)
        except Exception:  # noqa: BLE001, S112 - each driver has an error of its own
            continue
        raise AssertionError(f"the log let somebody execute: {statement}")
    _expect("the log", database.entries(), whole)


def check_a_log_is_known_again(database: AuditedDatabase) -> None:
    """Its identity stays, and that of another is refused."""
    known = identity(database.conn)
    _expect("the identity", identity(database.conn, known), known)
    with _refused("the identity of another log"):
        identity(database.conn, f"{known}0")


def _captured(database: AuditedDatabase) -> str:
    """An entry that the application writes itself, about something that is no audited table."""
    with database.transaction():
        return audit.capture_log(
            database.conn, "ledger", "INSERT", record_id="7", after={"total": 12.5}, label="uploaded"
        )


def _expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


@contextmanager
def _refused(what: str) -> Iterator[None]:
    try:
        yield
    except SvcError:
        return
    raise AssertionError(f"the log takes {what}")


CHECKS: Final[Mapping[str, Callable[[AuditedDatabase], None]]] = {
    name.removeprefix("check_").replace("_", " "): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
"""The checks, by their names in words. Each is for a database that ``prepare`` has just made."""
