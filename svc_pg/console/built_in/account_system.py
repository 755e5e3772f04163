"""The route of the product ``account`` for the state of the system."""

from svc_pg.config import Config
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.console.status import system_status
from svc_pg.console.status.drift import DriftReader
from svc_pg.console.status.system_status import SystemStatus
from svc_pg.database.query import afetch_one
from svc_pg.status.webhooks_installed import webhooks_installed


def system_route(database: Database, config: Config) -> ProductEndpoint:
    """The route. The database is compared with ``config``."""
    reader = DriftReader(database, config)

    async def shown(_request: AuthenticatedRequest) -> ConsoleResponse:
        drift = await reader.read()
        async with database.connection() as conn:
            has_webhooks = await afetch_one(conn, webhooks_installed())
            found = await system_status.read_system_status(conn, config, drift, has_webhooks=has_webhooks)
        return ConsoleResponse(200, found)

    return ProductEndpoint(
        method="GET",
        path="/system",
        operation_id="system.get",
        handler=shown,
        is_compressed=True,
        summary="Versions, workers, sizes, retention, and how the database differs from the configuration",
        response=SystemStatus,
    )
