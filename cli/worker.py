"""The command ``worker``."""

import asyncio
import gc
import logging
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from svc_pg import Config, Settings
from svc_pg.audit import SealKey
from svc_pg.config import WebhooksConfig
from svc_pg.config.model import validated
from svc_pg.database.conninfo import Conninfo
from svc_pg.formats import durations
from svc_pg.webhooks.http import open_files
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks.worker.health import check_metrics, health_server

from .database import conninfo
from .installation import wait_for_svc
from .options import ConfigReference, PostgresUrl
from .seal_timestamps import seal_timestamps
from .supervisor import Supervisor, reporting, same_command
from .work import Work

app = typer.Typer()

_log = logging.getLogger(__name__)

_LOG_FORMAT: Final = "%(asctime)s %(levelname)s [%(process)d] %(message)s"
_SHORTEST_INTERVAL: Final = timedelta(milliseconds=10)
_MOST_NAMED: Final = 5
_UNSEARCHED: Final = 50_000  # objects made before a search for cycles; at every 700, it takes a twelfth of the CPU time


def _interval(value: str) -> timedelta:
    """A duration, or bare milliseconds, which the specification uses."""
    try:
        interval = timedelta(milliseconds=int(value)) if value.isdecimal() else durations.parse(value)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(str(error)) from error
    if interval < _SHORTEST_INTERVAL:
        raise typer.BadParameter(f"{value!r} is less than 10 milliseconds")
    return interval


class Part(StrEnum):
    """The part of the work for this worker."""

    deliveries = "deliveries"
    maintenance = "maintenance"


@dataclass(frozen=True, slots=True)
class _Start:
    """A worker that is to start, in a database that tells whether there are webhooks."""

    database: Conninfo
    config: Config
    settings: Settings
    only: Part | None
    _: KW_ONLY
    needs_webhooks: bool

    def check(self, work: Work | Supervisor, *, has_webhooks: bool) -> None:
        """Leave deliveries out if there are no webhooks. Raises EncryptionKeyError if there are, and no keys."""
        if self.only is not None:
            return
        if has_webhooks:
            KeyRing.of(self.settings)
        elif isinstance(work, Work):
            _log.info("the database has only the audit trail: the worker maintains it, and delivers nothing")
            work.leave_out_deliveries()


@app.command()
def worker(
    *,
    concurrency: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="The number of POSTs at a time in each process.")
    ] = 400,
    processes: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="The number of processes; each uses one core.")
    ] = 1,
    interval: Annotated[
        timedelta,
        typer.Option(
            parser=_interval,
            metavar="DURATION",
            help="How often to poll if the worker cannot listen. A bare number is milliseconds.",
        ),
    ] = "2s",  # type: ignore[assignment]  # Typer parses it
    listen_url: Annotated[
        str | None,
        typer.Option(metavar="URL|CONNINFO", help="A direct connection to listen on, if --database-url is a pooler's."),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(metavar="URL", help="An egress proxy: http://host:port. Default: proxy of the configuration."),
    ] = None,
    only: Annotated[
        Part | None, typer.Option(help="Only deliver, or only maintain partitions and retention. Default: both.")
    ] = None,
    seal_to: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Add copies of all seals, as seal --to does, and compare with the last."),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            metavar="N",
            envvar="SVC_WORKER_METRICS_PORT",
            help="Serve /metrics, /healthz and /readyz on this port.",
        ),
    ] = None,
    metrics_host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to serve them on.")] = "127.0.0.1",
    lifeline: Annotated[int | None, typer.Option(hidden=True)] = None,
    database_url: PostgresUrl = None,
    config: ConfigReference = None,
) -> None:
    """Deliver webhooks and maintain the database. On SIGTERM or Ctrl-C, finish the current work and end.

    A database that has only the audit trail is maintained, which needs no keys.
    """
    logging.basicConfig(level=logging.INFO, format=_LOG_FORMAT)
    settings = Settings.load()
    if seal_to is not None and lifeline is None and (only is Part.deliveries or settings.seal_key is None):
        raise typer.BadParameter("only a worker that maintains and has SVC_SEAL_KEY seals", param_hint="--seal-to")
    wanted = Config.find(config)
    if proxy is not None:
        wanted.webhooks.proxy = validated(WebhooksConfig, {"proxy": proxy}, source="--proxy").proxy
    database = conninfo(database_url)
    listening = None if listen_url is None else Conninfo.parse(listen_url, name="--listen-url")
    needs_webhooks = only is Part.deliveries or processes > 1
    if processes > 1 and only is Part.maintenance:
        raise typer.BadParameter("maintenance is one process's work", param_hint="--processes")
    keys = _keys(settings, only, are_needed=needs_webhooks)
    if metrics_port is not None:
        check_metrics()
    if lifeline is None:
        _log.info("works on %s", database)
    work: Work | Supervisor
    if processes > 1 and lifeline is None:
        others = [[*same_command(), "--only", Part.deliveries]] * (processes - 1)
        work = Supervisor([same_command(), *others])
    else:
        is_sealing = only is not Part.deliveries and settings.seal_key is not None
        work = Work(
            database,
            wanted,
            keys=keys,
            concurrency=concurrency,
            interval=interval,
            listen_conninfo=listening,
            is_maintaining=only is not Part.deliveries,
            seal_key=None if settings.seal_key is None else SealKey.of(settings),
            seal_copies=seal_to,
            seal_timestamps=seal_timestamps(settings, proxy=wanted.webhooks.proxy) if is_sealing else None,
        )
    served_at = None if metrics_port is None or lifeline is not None else (metrics_host, metrics_port)
    start = _Start(database, wanted, settings, only, needs_webhooks=needs_webhooks)
    open_files.raise_limit()
    gc.freeze()  # objects loaded by now stay
    gc.set_threshold(_UNSEARCHED)
    with _runner() as runner:
        runner.run(_run(work, start, served_at, lifeline))


async def _run(work: Work | Supervisor, start: _Start, served_at: tuple[str, int] | None, lifeline: int | None) -> None:
    stopping = asyncio.Event()

    def stop() -> None:
        stopping.set()
        work.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with AsyncExitStack() as stack:
        if served_at is not None:
            host, port = served_at
            await stack.enter_async_context(health_server(work, conninfo=start.database, host=host, port=port))
        if lifeline is not None:
            await stack.enter_async_context(reporting(lifeline, work, gone=stop))
        found = await wait_for_svc(start.database, start.config, needs_webhooks=start.needs_webhooks, stopping=stopping)
        if found is not None:
            start.check(work, has_webhooks=found.has_webhooks)
            if isinstance(work, Work) and not found.has_audit:
                work.leave_out_audit()
            if found.unrecorded and lifeline is None:
                _warn_of(found.unrecorded)
        if not stopping.is_set():
            await work.run()


def _keys(settings: Settings, only: Part | None, *, are_needed: bool) -> KeyRing | None:
    """The keys; None if nothing is delivered, or if there are none and the database tells whether one needs them."""
    if only is Part.maintenance or (settings.encryption_keys is None and not are_needed):
        return None
    return KeyRing.of(settings)


def _warn_of(unrecorded: Sequence[str]) -> None:
    more = f" and {len(unrecorded) - _MOST_NAMED} more" if len(unrecorded) > _MOST_NAMED else ""
    _log.warning(
        "the configuration names tables that are not audited in this database: %s%s; run svc-pg install, or, if it is"
        " the configuration of another database, stop this worker: maintenance would remove entries by its retention",
        ", ".join(unrecorded[:_MOST_NAMED]),
        more,
    )


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
