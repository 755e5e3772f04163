"""The steps of an install, found by one look at the database, and taken in few statements."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, assert_never

from psycopg import Connection

from svc_pg.config import Grants
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import OBJECT_KINDS, Trigger
from svc_pg.rendering.templates import render
from svc_pg.schema.migration_files import by_name
from svc_pg.schema.postgres import access, installation, installed, log_indexes, migrations
from svc_pg.schema.postgres.differences import look
from svc_pg.schema.postgres.installation import Installation, look_around, next_revision
from svc_pg.schema.postgres.target import Target, guards
from svc_pg.schema.refusals import refuse_newer, refuse_overtaken
from svc_pg.schema.status import Status, steps_of

Work = Literal["migration", "object", "removal", "statement"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The target, the steps to it, also by the table whose changes they concern, and the installation before them.

    ``has_other_indexes`` is true if the log may have other indexes than it should, which are built or dropped after the
    steps. ``revision`` is the one read, or counted since. Without another install the steps stay valid, so one look
    is enough for all transactions of an install.
    """

    target: Target
    steps: list[Status]
    by_table: dict[str | None, list[Status]]
    present: Installation
    revision: int
    has_other_indexes: bool

    @classmethod
    def of(cls, conn: Connection[Any], present: Installation, target: Target) -> "Plan":
        """Look at the database. Raises the errors of ``look``."""
        found = look(conn, present, target)
        steps = [step for step in steps_of(found) if not step.is_later]
        by_table: dict[str | None, list[Status]] = {}
        for step in steps:
            by_table.setdefault(_table(step, target), []).append(step)
        has_other = any(
            log_indexes.is_one(each.identity) or each.kind == "migration" for each in found if each.state != "ok"
        )
        return cls(target, steps, by_table, present, present.revision, has_other)

    def removals(self, *, prune: bool) -> list[Status]:
        """The last steps: all removals except stray overloads and removals of a table that also gets new objects."""
        return [
            step
            for step in self.steps
            if step.action == "remove" and not step.is_stray_overload
            if _table(step, self.target) not in self.target.tables
            if prune or not step.needs_prune
        ]

    def of_tables(self, tables: Iterable[str]) -> list[Status]:
        """The steps of these tables."""
        return [step for table in tables for step in self.by_table.get(table, [])]

    def is_all_new(self, table: str) -> bool:
        """True if all objects of a table are missing, and there are no others."""
        return all(step.state == "missing" and step.kind in OBJECT_KINDS for step in self.of_tables([table]))

    def after(self, taken: Sequence[Status]) -> "Plan":
        """The plan after these steps of tables."""
        done = {(step.kind, step.identity) for step in taken}
        left = {
            table: [step for step in steps if (step.kind, step.identity) not in done]
            for table, steps in self.by_table.items()
        }
        return replace(self, by_table={table: steps for table, steps in left.items() if steps})

    def next(self, conn: Connection[Any]) -> "Plan":
        """The plan for the next transaction, which is counted; a new one if another install ran meanwhile.

        Raises InstallError if that one has chosen other products.
        """
        revision = next_revision(conn)
        if revision == self.revision + 1:
            return replace(self, revision=revision)
        present = installation.read_installation(conn, look_around(conn))
        refuse_newer(present.version)
        refuse_overtaken(self.target.products, present.configuration)
        installation.record_configuration(conn, self.target.configuration)
        return Plan.of(conn, present, self.target)


def removal_plan(conn: Connection[Any], present: Installation) -> tuple[Target, list[Status]]:
    """The steps that remove everything but the data, its guards and the event types; and the target that they lead to.

    Raises the errors of ``look``.
    """
    kept = Target(schema=guards(), tables={}, events={}, access=access.wanted(present, Grants()))
    steps = [step for step in Plan.of(conn, present, kept).steps if step.action == "remove" and step.kind != "event"]
    return kept, steps


def _table(step: Status, target: Target) -> str | None:
    """The table of a step; for captures of a renamed table its new name, so that both change together."""
    return step.moved_to if step.moved_to in target.tables else step.audited_table


def take(conn: Connection[Any], steps: list[Status]) -> list[Status]:
    """Execute the steps in order, each kind together, and return them; rights and partitions come last."""
    known = by_name(migrations.released())
    taken = [step for step in steps if step.kind != "access"]
    for work, group in groupby((step for step in taken if step.kind != "partition"), key=_work):
        together = list(group)
        match work:
            case "migration":
                for step in together:
                    migrations.apply(conn, known[step.identity])
            case "object":
                installed.create(conn, [step.item for step in together if step.item is not None])
            case "removal":
                installed.remove(conn, [(step.kind, step.identity, step.sql) for step in together])
            case "statement":
                conn.execute("\n".join(step.sql for step in together).encode())
                if any(step.kind == "rule" for step in together):
                    conn.execute(render("installed/replan.sql"))
            case _:
                assert_never(work)
    return taken


def tables_with_triggers(steps: Iterable[Status]) -> Iterator[TableName]:
    """The tables whose triggers are made or dropped."""
    for step in steps:
        if step.kind == "trigger":
            yield Trigger.parse(step.identity).table


def _work(step: Status) -> Work:
    if step.kind in OBJECT_KINDS:
        return "removal" if step.item is None else "object"
    return "migration" if step.kind == "migration" else "statement"
