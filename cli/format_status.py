"""Summarize installed objects or changes: one line for each table and event of the application, and for schema svc."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from svc_pg.formats.plurals import counted
from svc_pg.rendering.schema_objects import sends_changes
from svc_pg.schema import Status

from . import output
from .json_text import printable

_FEW: Final = 10
_BY_WEIGHT: Final = ("outdated", "missing", "orphan", "ok")  # the others have lines of their own


@dataclass(frozen=True, slots=True)
class Line:
    """One or several objects in the same state, on which install takes the same action."""

    state: str
    action: str
    kind: str
    what: str


def every(entries: Iterable[Status]) -> list[Line]:
    """A line for each object."""
    return [Line(entry.state, entry.action, entry.kind, f"{entry.identity}{left_out([entry])}") for entry in entries]


def summary(entries: Sequence[Status]) -> list[Line]:
    """Summary lines, those of the application last.

    An object changed or removed by others has a line of its own, unless so much of schema svc is missing that it counts
    as not installed.
    """
    of_svc = [entry for entry in entries if _is_of_svc(entry)]
    return [*_of_svc(of_svc), *_of_application([entry for entry in entries if not _is_of_svc(entry)])]


def _is_of_svc(entry: Status) -> bool:
    table = entry.audited_table
    return entry.kind != "event" if table is None else table.startswith("svc.")


def _of_svc(entries: Sequence[Status]) -> Iterator[Line]:
    is_few = sum(entry.state in ("missing", "orphan") for entry in entries) <= _FEW
    rest = []
    for entry in entries:
        if _is_changed(entry) or (is_few and entry.state in ("missing", "orphan")):
            yield from every([entry])
        else:
            rest.append(entry)
    for state, group in groupby(sorted(rest, key=lambda entry: entry.state), key=lambda entry: entry.state):
        members = list(group)
        kinds = Counter(entry.kind for entry in members)
        numbers = ", ".join(_counted(kind, number) for kind, number in kinds.items())
        yield Line(state, members[0].action, "schema", f"svc: {numbers}")


def _of_application(entries: Sequence[Status]) -> Iterator[Line]:
    parts: dict[tuple[str, str], list[Status]] = {}
    for entry in entries:
        table = entry.audited_table
        feature = "event" if table is None else "on_change" if sends_changes(entry.identity) else "audit"
        parts.setdefault((feature, table or entry.identity), []).append(entry)
    for (feature, name), members in sorted(parts.items()):
        changed = [entry for entry in members if _is_changed(entry) or not _is_whole(entry, members)]
        yield from every(changed)
        others = [entry for entry in members if entry not in changed]
        shown = min(others, key=lambda entry: _BY_WEIGHT.index(entry.state), default=None)
        if shown is not None and not (changed and shown.state == "ok"):
            yield Line(shown.state, shown.action, feature, f"{name}{left_out(members)}")


def left_out(members: Iterable[Status]) -> str:
    """The changes that the objects of a table do not record, by the configuration's choice."""
    return next((f": {entry.leaves_out}" for entry in members if entry.leaves_out), "")


def tell_titles(steps: Iterable[Status]) -> None:
    """Say which column the console takes to name the records of each table whose capture a plan makes."""
    titles = {str(step.audited_table): step.title for step in steps if step.title and not step.is_of_own_table}
    for table, column in titles.items():
        output.words(f"title: the records of {printable(table)} are named by {printable(column)}")
    if titles:
        output.words('Guessed unless configured: title = "column" of a table chooses the one that the console shows.')


def _is_changed(entry: Status) -> bool:
    return entry.is_foreign or entry.state in ("tampered", "disabled")


def _is_whole(entry: Status, members: Sequence[Status]) -> bool:
    """True if a line for the table covers it: functions and triggers differ alike, or the rules are new."""
    if entry.state not in ("missing", "orphan") or entry.kind == "event":
        return True
    kinds = {member.kind for member in members if member.state == entry.state}
    if {"function", "trigger"} <= kinds or any(member.state == "outdated" for member in members):
        return True
    is_all = all(member.state == entry.state for member in members)
    return is_all and all(member.kind == "trigger" for member in members)  # where capture has no functions


def _counted(kind: str, number: int) -> str:
    return "access rights" if kind == "access" else counted(number, kind)


def as_json(step: Status) -> dict[str, str | bool | None]:
    """The member of the JSON documents of install, plan, status and uninstall."""
    return {
        "kind": step.kind,
        "identity": step.identity,
        "state": step.state,
        "action": step.action,
        "auditedTable": step.audited_table,
        "leavesOut": step.leaves_out,
        "title": step.title,
        "note": step.note,
    }
