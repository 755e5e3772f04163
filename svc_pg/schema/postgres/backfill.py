"""Record differences between tables and the log: rows from before capture, and changes without an entry."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, DataError, Error
from psycopg.sql import SQL, Identifier

from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.comparing import SETTINGS, Comparison, plain_key, tells_all
from svc_pg.capture.postgres.foreign_code import check_planned
from svc_pg.capture.postgres.installed_rules import InstalledRules
from svc_pg.capture.postgres.log_stretches import LOG_BOUNDS
from svc_pg.capture.postgres.patterns import resolve
from svc_pg.capture.postgres.pieces import RECORDS, Leaf, leaves_of, pieces_of
from svc_pg.capture.postgres.triggers import snapshot_values
from svc_pg.capture.rules import TableRules, rules_for
from svc_pg.config import AuditedTable, Config
from svc_pg.database import performing
from svc_pg.database.query import Query, fetch, fetch_one, scalar
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, InstallError
from svc_pg.rendering.templates import render
from svc_pg.schema.install_waits import TRIES
from svc_pg.schema.postgres import gaps
from svc_pg.schema.postgres.diagnosis import LOCKED, diagnose
from svc_pg.schema.postgres.transactions import Patience, locked, transaction


@dataclass(frozen=True, slots=True)
class _Ended:
    upto: str | None
    records: int
    is_found: bool


def backfill(conn: Connection[Any], config: Config) -> dict[str, int]:
    """Compare every audited table with the log, and write the missing entries; return their number.

    A row without an entry, or whose last entry is a DELETE, gets a SNAPSHOT entry. So does a row that differs from its
    last image, with both images. A record of the log that the table lacks gets a GONE entry with its last image. Then
    the log matches the table; a second run writes nothing. Of a table without a key all rows are written, if it has no
    entries since it was last truncated; of a partitioned one, if it has none. A table with ``record_when`` gets entries
    of new records alone, if their INSERT would be recorded.

    Run it after ``install``, on a connection outside a transaction. It reads a table in pieces, each in one statement,
    while writers go on; they wait only while a piece with missing entries is written. Raises the errors of ``install``
    if the configuration does not fit the tables, and InstallError if a right is missing: for row security, too, which
    would hide rows; and if the planner would run code of others, for example the function of an index, with the rights
    of this connection. Written entries stay, and the next run continues. A ``record_when`` in SQL is refused for the
    same reason, before anything is written.
    """
    with transaction(conn):
        installed = InstalledRules(config)
        performing.run(conn, installed.check())
        audited = resolve(conn, config.audit.tables)
        read_tables(conn, audited)
    for name, rules in audited.items():
        if rules.record_when is not None and rules.record_when.has_sql:
            raise ConfigError(
                f'table "{name}": record_when has SQL, which a backfill does not run: it would have your rights',
                hint="Write the condition with before, after and changed, or leave the table out of the backfill.",
            )
    written = {}
    for name, rules in audited.items():
        try:
            with locked(conn, Patience()):
                known = gaps.keep_of(conn, str(name))
            written[str(name)] = _Backfill(conn, name, rules, installed).run()
            with locked(conn, Patience()):
                gaps.mend(conn, known)
        except Error as error:
            raise diagnose(conn, error, table=str(name)) from error
    return written


class _Backfill:
    """The backfill of one table."""

    def __init__(
        self, conn: Connection[Any], name: TableName, audited: AuditedTable, installed: InstalledRules
    ) -> None:
        self._conn = conn
        self._installed = installed
        self._name = name
        self._audited = audited
        with transaction(conn):
            self._log = fetch_one(conn, LOG_BOUNDS)
            self._table = read_tables(conn, [name])[name]
            self._rules = rules_for(self._table, audited)
            self._has_plain_key = fetch_one(conn, plain_key(self._rules)).has_plain_key

    def run(self) -> int:
        """Write the missing entries; return their number."""
        if not self._rules.key:
            return self._write(self._name, lambda: self._keyless(self._rules))
        written = 0
        for leaf in self._leaves():
            written += self._of_leaf(leaf)
        return written + self._ended()

    def _keyless(self, rules: TableRules) -> str:
        return render("capture/snapshot.sql.j2", **snapshot_values(rules))

    def _comparison(self) -> Comparison:
        stretches = self._log.stretches()
        return Comparison.of(self._rules, "backfill", has_plain_key=self._has_plain_key, stretches=stretches)

    def _leaves(self) -> list[Leaf]:
        with transaction(self._conn):
            return fetch(self._conn, leaves_of(self._name))

    def _of_leaf(self, leaf: Leaf) -> int:
        """Compare its rows; again from the first page if they have moved to another file meanwhile."""
        written, file = 0, None
        while file != leaf.file:
            file = leaf.file
            for _, pages in pieces_of(leaf, server_version=self._conn.info.server_version):
                if self._look(leaf.name, lambda: self._comparison().rows(leaf.name, pages, "look")):  # noqa: B023 - called at once
                    written += self._write(
                        leaf.name,
                        lambda: self._comparison().rows(leaf.name, pages, "write"),  # noqa: B023
                    )
            [leaf] = [each for each in self._leaves() if each.name == leaf.name] or [leaf]
        return written

    def _ended(self) -> int:
        """Write the ends of records that the table lacks."""
        if not tells_all(self._rules):
            return 0
        try:
            return self._ended_records(RECORDS if self._has_plain_key else None)
        except DataError:  # the key had another type once
            self._has_plain_key = False
            return self._ended_records(None)

    def _ended_records(self, records: int | None) -> int:
        written, after = 0, ""
        while True:
            found = self._look_at_ended(after, records)
            if found.upto is None:
                return written
            if found.is_found:
                upto = found.upto
                written += self._write(
                    self._name,
                    lambda: self._comparison().ended(after, "write", upto=upto),  # noqa: B023
                )
            if records is None or found.records < records:
                return written
            after = found.upto

    def _look_at_ended(self, after: str, records: int | None) -> _Ended:
        with self._locked(self._name, "share update exclusive"):
            text = self._comparison().ended(after, "look", records=records)
            return fetch_one(self._conn, Query(text, (), _Ended))

    def _look(self, relation: TableName, text: Callable[[], str]) -> bool:
        """Take a look under a lock that lets writers go on, but lets no session give the planner other code to run."""
        with self._locked(relation, "share update exclusive"):
            return bool(scalar(self._conn, text()))

    def _write(self, relation: TableName, text: Callable[[], str]) -> int:
        """Write in a transaction of its own, with the table or this part of it locked against changes."""
        tries = TRIES
        while True:
            tries -= 1
            try:
                with self._locked(relation, "share row exclusive"):
                    return int(scalar(self._conn, text()))
            except Error as error:
                if not (tries and isinstance(error, LOCKED)):
                    raise

    @contextmanager
    def _locked(self, relation: TableName, mode: str) -> Iterator[None]:
        """A transaction under a lock, which comes to nothing unless table and rules are as they were, to its end."""
        with locked(self._conn, Patience()):
            self._conn.execute(SETTINGS, prepare=False)
            self._conn.execute(SQL("lock table {} in {} mode").format(Identifier(*relation), SQL(mode)))
            check_planned(self._conn, relation)
            if read_tables(self._conn, [self._name]) != {self._name: self._table}:
                # its images are for the columns that it had
                raise InstallError(f'table "{self._name}" was changed during the backfill', hint="Run it again.")
            yield
            performing.run(self._conn, self._installed.check())
