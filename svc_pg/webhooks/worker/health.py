"""Metrics and health of a worker over HTTP: /metrics, /healthz and /readyz."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import ConfigError
from svc_pg.webhooks.worker.database_state import StateReader
from svc_pg.webhooks.worker.observed import Observed


def check_metrics() -> None:
    """Raise ConfigError if prometheus-client is missing."""
    try:
        import svc_pg.webhooks.worker.prometheus  # noqa: F401 - to see whether it can be
    except ImportError as error:
        raise ConfigError("metrics need prometheus-client", hint="pip install 'svc-pg[metrics]'") from error


@asynccontextmanager
async def health_server(observed: Observed, *, conninfo: Conninfo, host: str, port: int) -> AsyncIterator[None]:
    """Serve until the end of the block. Raises ConfigError if the address is not free or prometheus-client is missing.

    /healthz tells a supervisor whether to restart it: a worker without its database is alive, and will reconnect.
    /readyz tells whether it can deliver: it has its database, and its machine has files, ports and a resolver.
    """
    check_metrics()
    if not host:  # Python would take all addresses
        raise ConfigError(
            "the address to serve metrics at is empty", hint="Write 127.0.0.1, or 0.0.0.0 for all addresses."
        )
    app = web.Application()
    pages = _Pages(observed, StateReader(conninfo))
    app.add_routes(
        [web.get("/metrics", pages.metrics), web.get("/healthz", pages.health), web.get("/readyz", pages.readiness)]
    )
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            reason = str(error.strerror).rpartition("): ")[2]  # asyncio repeats the address there
            raise ConfigError(
                f"cannot serve metrics at {host}, port {port}: {reason}",
                hint="Choose another port, or an address that this machine has.",
            ) from error
        yield
    finally:
        await runner.cleanup()


class _Pages:
    def __init__(self, observed: Observed, database: StateReader) -> None:
        self._observed = observed
        self._database = database

    async def metrics(self, request: web.Request) -> web.Response:
        from svc_pg.webhooks.worker.prometheus import exposition

        state = await self._database.state()
        attributed = await self._database.attributed()
        accept = request.headers.get("Accept", "")
        body, content_type = exposition(self._observed.statistics, state, attributed, accept=accept)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def health(self, _: web.Request) -> web.Response:
        return _answer("alive", None if self._observed.is_alive else "not alive")

    async def readiness(self, _: web.Request) -> web.Response:
        return _answer("ready", self._observed.problem)


def _answer(good: str, problem: str | None) -> web.Response:
    return web.Response(status=200 if problem is None else 503, text=f"{problem or good}\n")
