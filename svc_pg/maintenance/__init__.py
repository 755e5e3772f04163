"""Maintain the tables of svc: make partitions in time, and delete rows whose retention has ended."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import Connection

from svc_pg.audit.keep import retention
from svc_pg.config import Config
from svc_pg.database import performing
from svc_pg.database.advisory_locks import Lock
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import scalar
from svc_pg.database.statements import statement
from svc_pg.errors import SvcError
from svc_pg.formats.plurals import counted
from svc_pg.maintenance.batches import added, check_autocommit, in_batches, in_stretches, removed
from svc_pg.maintenance.bounded_calls import never
from svc_pg.maintenance.payload_search import fill_search
from svc_pg.maintenance.reconciling import reconcile_log
from svc_pg.maintenance.repeating import Repeating
from svc_pg.maintenance.silences import forget_capture, watch_capture
from svc_pg.schema.postgres import index_builder, log_indexes
from svc_pg.schema.postgres.partitions import ENSURE, EPOCH
from svc_pg.status.last_runs import Task, note_failure, note_success
from svc_pg.status.webhooks_installed import IS_INSTALLED
from svc_pg.webhooks.worker import server_clock
from svc_pg.webhooks.worker.statistics import Statistics

_log = logging.getLogger(__name__)

_EVERY: Final = timedelta(hours=1)

_DELIVERIES_END: Final = "select id from svc.webhook_deliveries where id > %s order by id offset %s limit 1"
_MESSAGES_END: Final = "select id from svc.webhook_messages where id > %s order by id offset %s limit 1"
_PRUNE_DELIVERIES: Final = "select svc.webhook_prune(%s, %s, %s, %s, %s)"
_PRUNE_MESSAGES: Final = "select svc.webhook_prune_messages(%s, %s, %s, %s)"


class _Step(NamedTuple):
    """A step of maintenance: its name, and its work, which returns what it did, in words, if it did anything.

    ``task`` is the task as which ``status`` tells of it. Without webhooks one that ``needs_webhooks`` is left out.
    """

    name: str
    run: Callable[[Connection[Any], Config], str | None]
    task: Task | None = None
    needs_webhooks: bool = False


class Maintenance:
    """Maintains a database about every hour until ``stop`` is called, the first time within a minute.

    Run as many as you like, beside any number of workers: one maintains at a time. An error is logged, and the next run
    tries again. ``statistics`` counts the runs. Set ``has_webhooks`` to False if the database has none, so that its
    program delivers nothing: once they are added, each run warns of it. ``has_audit`` is the same for the audit trail,
    of which no run warns.
    """

    def __init__(self, conninfo: str | Conninfo, *, config: Config, every: timedelta = _EVERY) -> None:
        self.statistics = Statistics()
        self.has_webhooks = True
        self.has_audit = True
        self._config = config
        self._repeating = Repeating(Conninfo.parse(conninfo), self._maintain, name="maintenance", every=every)

    def stop(self) -> None:
        """Cancel the run under way, which leaves nothing to repair; ``run`` then returns."""
        self._repeating.stop()

    async def run(self) -> None:
        """Maintain until ``stop`` is called."""
        days, webhooks = self._config.audit.retention_days, self._config.webhooks
        own = any(table.retention_days for table in self._config.audit.tables)
        of_webhooks = (
            f"delivered webhooks are kept for {webhooks.keep_delivered / timedelta(days=1):g} days,"
            f" other ended ones for {webhooks.keep_failed / timedelta(days=1):g} days, "
        )
        _log.info(
            "maintenance started; %sthe %s %s%s%s",
            of_webhooks if self.has_webhooks else "",
            "audit log" if self.has_audit else "log of changes of svc-pg's own tables",
            "" if self.has_webhooks else "is kept ",
            "forever" if days is None else f"for {days} days",
            ", and some of its tables for their own time" if own else "",
        )
        await self._repeating.run(self.statistics.maintenance)

    def _maintain(self, conn: Connection[Any], is_stopping: Callable[[], bool]) -> bool:
        if not self.has_webhooks and scalar(conn, IS_INSTALLED):
            _log.warning("webhooks have been added to the database, and this worker only maintains it: start it again")
        return maintain(conn, self._config, is_stopping=is_stopping)


def maintain(conn: Connection[Any], config: Config, *, is_stopping: Callable[[], bool] = never) -> bool:
    """Run all maintenance now; return whether all of it succeeded. ``conn`` must be in autocommit.

    Makes the log's partitions and its chosen indexes; removes entries older than ``retention_days``, deliveries older
    than ``keep_delivered`` and ``keep_failed``, and expired rows of the console; compares tables with the log if that
    is due. A failed step is logged, and the others still run. Does nothing and returns True while another session
    maintains. If logical replication keeps the log, only makes partitions and indexes, and drops as the publisher.

    Raises TransactionError if ``conn`` is not in autocommit, psycopg.OperationalError if the connection is lost.
    """
    with _alone(conn) as is_alone:
        return _maintain(conn, config, is_stopping) if is_alone else True


def _maintain(conn: Connection[Any], config: Config, is_stopping: Callable[[], bool]) -> bool:
    problems: list[str] = []
    for step in _steps(conn, is_stopping):
        if is_stopping():
            return not problems
        try:
            done = step.run(conn, config)
            if step.task is not None:
                note_success(conn, step.task)
        except (psycopg.Error, SvcError) as error:
            if is_stopping():
                return not problems
            if conn.closed:
                raise
            _log.error("maintenance of %s failed, the next run tries again: %s", step.name, error)
            problems.append(f"{step.name}: {error}")
            if step.task is not None:
                note_failure(conn, step.task, str(error))
        else:
            if done:
                _log.info("maintenance of %s: %s", step.name, done)
    if problems:
        note_failure(conn, "maintenance", "; ".join(problems))
    else:
        note_success(conn, "maintenance")
    return not problems


def _steps(conn: Connection[Any], is_stopping: Callable[[], bool]) -> Sequence[_Step]:
    if scalar(conn, "select svc.audit_is_copy()"):
        return _STEPS_OF_COPY
    has_webhooks = scalar(conn, IS_INSTALLED)
    steps = [each for each in _STEPS if has_webhooks or not each.needs_webhooks]
    return [*steps, _Step("the log's completeness", partial(reconcile_log, is_stopping=is_stopping))]


_IS_MAINTAINED: Final = statement("queries/maintenance/is_maintained.sql")


@contextmanager
def _alone(conn: Connection[Any]) -> Iterator[bool]:
    """Hold a session lock. Behind a pooler there is none, and two at a time only do some work in vain."""
    check_autocommit(conn)
    if scalar(conn, "select pg_backend_pid()") != conn.info.backend_pid:
        yield True
    elif not scalar(conn, "select pg_catalog.pg_try_advisory_lock(%s, %s)", Lock.MAINTENANCE.key):
        is_maintained = scalar(conn, _IS_MAINTAINED, Lock.MAINTENANCE.key)
        if not is_maintained:
            _log.warning("a role that may not maintain the database holds the lock of maintenance; going on without it")
        yield not is_maintained
    else:
        try:
            yield True
        finally:
            if not conn.closed:
                scalar(conn, "select pg_catalog.pg_advisory_unlock(%s, %s)", Lock.MAINTENANCE.key)


def _make_partitions(conn: Connection[Any], _: Config) -> str | None:
    made = scalar(conn, ENSURE)
    return f"made {', '.join(made)}" if made else None


def _build_indexes(conn: Connection[Any], config: Config) -> str | None:
    built = index_builder.build_missing(conn, log_indexes.chosen(config.audit))
    return f"built {', '.join(built)}" if built else None


def _follow_purges(conn: Connection[Any], _: Config) -> str | None:
    dropped = scalar(conn, "select svc.audit_follow_purges()")
    return f"dropped {', '.join(dropped)}, as the publisher did" if dropped else None


def _begin_epoch(conn: Connection[Any], _: Config) -> None:
    conn.execute(EPOCH)


def _purge_log(conn: Connection[Any], config: Config) -> str | None:
    if config.audit.retention_days is None and not any(table.retention_days for table in config.audit.tables):
        return None
    report = retention.purge(conn, config=config.audit)
    if report.held:
        _log.info("entries whose retention has ended are held: %s", ", ".join(report.held))
    if report.postponed:
        _log.warning("entries to be purged are in use, the next run goes on: %s", ", ".join(report.postponed))
    if not report.partitions and not report.entries:
        return None
    return f"removed {counted(len(report.partitions), 'partition')} and {counted(report.entries, 'entry')}"


def prune_deliveries(conn: Connection[Any], *, delivered: timedelta, failed: timedelta) -> int:
    """Delete deliveries that ended longer ago than they are kept, with their attempts and messages; return how many.

    ``failed`` applies to canceled ones too. Every batch is a transaction of its own. Raises TransactionError if
    ``conn`` is not in autocommit.
    """
    check_autocommit(conn)
    deliveries = in_stretches(
        conn, _DELIVERIES_END, _PRUNE_DELIVERIES, (delivered, failed), kept=min(delivered, failed)
    )
    return deliveries + in_stretches(conn, _MESSAGES_END, _PRUNE_MESSAGES, (delivered,), kept=delivered)


def _prune_webhooks(conn: Connection[Any], config: Config) -> str | None:
    kept = config.webhooks
    return removed(prune_deliveries(conn, delivered=kept.keep_delivered, failed=kept.keep_failed))


def _fill_search(conn: Connection[Any], _: Config) -> str | None:
    return added(fill_search(conn))


def _follow_clock(conn: Connection[Any], _: Config) -> None:
    performing.run(conn, server_clock.follow())


def _prune_leaves(conn: Connection[Any], _: Config) -> str | None:
    return removed(in_batches(conn, "select svc.audit_prune_leaves(%s)", ()))


def _prune_console(conn: Connection[Any], _: Config) -> str | None:
    return removed(in_batches(conn, "select links + counts + sessions + events from svc.console_prune(%s)", ()))


_STEPS: Final = (
    _Step("the log's partitions", _make_partitions),
    _Step("the log's epoch", _begin_epoch),
    _Step("the log's retention", _purge_log, task="purge"),
    _Step("the leaves of removed entries", _prune_leaves),
    _Step("deliveries that wait", _follow_clock, needs_webhooks=True),
    _Step("deliveries", _prune_webhooks, needs_webhooks=True),
    _Step("the console", _prune_console),
    _Step("the search of payloads", _fill_search, needs_webhooks=True),
    _Step("the log's indexes", _build_indexes),  # which may wait for long
    _Step("the log's triggers", watch_capture),  # before the comparison that it may ask for
)
_STEPS_OF_COPY: Final = (
    _Step("the log's partitions", _make_partitions),
    _Step("the log's epoch", _begin_epoch),
    _Step("the log's retention", _follow_purges, task="purge"),
    _Step("the log's indexes", _build_indexes),
    _Step("the log's triggers", forget_capture),
)
