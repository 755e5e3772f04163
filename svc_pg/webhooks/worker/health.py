"""Metrics and health of a worker over HTTP: /metrics, /healthz and /readyz."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus

from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import ConfigError
from svc_pg.webhooks.worker.database_state import StateReader
from svc_pg.webhooks.worker.observed import Observed
from svc_pg.webhooks.worker.page_server import Answer, Page, page_server


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
    async with AsyncExitStack() as stack:
        try:
            pages = _pages(observed, StateReader(conninfo))
            await stack.enter_async_context(page_server(pages, host=host, port=port))
        except OSError as error:
            reason = str(error.strerror).rpartition("): ")[2]  # asyncio repeats the address there
            raise ConfigError(
                f"cannot serve metrics at {host}, port {port}: {reason}",
                hint="Choose another port, or an address that this machine has.",
            ) from error
        yield


def _pages(observed: Observed, database: StateReader) -> dict[str, Page]:
    async def metrics(accept: str) -> Answer:
        from svc_pg.webhooks.worker.prometheus import exposition

        state, attributed, findings = (
            await database.state(),
            await database.attributed(),
            await database.open_findings(),
        )
        told = exposition(
            observed.statistics,
            state,
            attributed,
            findings,
            is_delivering=observed.is_delivering,
            has_audit=database.has_audit,
            accept=accept,
        )
        return Answer(*told)

    async def health(_: str) -> Answer:
        return _answer("alive", None if observed.is_alive else "not alive")

    async def readiness(_: str) -> Answer:
        return _answer("ready", observed.problem)

    return {"/metrics": metrics, "/healthz": health, "/readyz": readiness}


def _answer(good: str, problem: str | None) -> Answer:
    status = HTTPStatus.OK if problem is None else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(f"{problem or good}\n".encode(), status=status)
