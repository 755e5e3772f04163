"""The route of the deliveries that transactions caused, for many transactions at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from svc_pg.audit.log import numbers
from svc_pg.audit.log.entry import XACT
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import text
from svc_pg.console.http.parameters import FilterParameter, documented, filtered, refuse
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse
from svc_pg.formats.doc import Doc
from svc_pg.webhooks.deliveries.caused_deliveries import MOST_TRANSACTIONS, acaused_by
from svc_pg.webhooks.deliveries.delivery_rows import Delivery


@dataclass(frozen=True, slots=True)
class CausedDeliveries:
    """The deliveries of what one transaction sent."""

    xact_id: Annotated[str, XACT]
    deliveries: Annotated[
        Sequence[Delivery],
        Doc("Its deliveries, 20 at most, the newest first; of 1,000 of its messages if it sent more."),
    ]
    is_complete: Annotated[
        bool,
        Doc(
            "False if there may be more: the list of deliveries has all by its filter `transaction`. For a tenant with"
            " no message among those looked at it is true, so that nothing tells of others' messages."
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Asked:
    xact_ids: Sequence[int] = ()


def _ids(asked: _Asked, text: str) -> _Asked:
    found = [*dict.fromkeys(map(numbers.bigint, text.split(",")))]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or len(known) > MOST_TRANSACTIONS:
        raise ValueError(f"write 1 to {MOST_TRANSACTIONS} numbers of transactions, with commas between them")
    return replace(asked, xact_ids=known)


_ASKED: Final = {
    "ids": FilterParameter(
        _ids,
        f"the xactId of the transactions, up to {MOST_TRANSACTIONS}, with commas between them",
        text("7301,7302"),
        is_required=True,
    )
}


@dataclass(frozen=True, slots=True)
class TransactionDeliveryRoutes:
    """The handler, and the database that it reads."""

    database: Database

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The route."""
        return [
            ProductEndpoint(
                method="GET",
                path="/transactions",
                operation_id="deliveries.caused",
                handler=self._list,
                is_compressed=True,
                serves_tenants=True,
                summary="The deliveries of what transactions sent, for each of them",
                query=documented(_ASKED),
                response=list[CausedDeliveries],
            )
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        asked = filtered(_Asked(), request.query, _ASKED)
        if not asked.xact_ids:
            refuse("ids", "is missing")
        async with self.database.connection() as conn:
            caused = await acaused_by(conn, asked.xact_ids, tenant=request.session.tenant)
        found = [CausedDeliveries(str(xact_id), each.deliveries, each.is_complete) for xact_id, each in caused.items()]
        return ConsoleResponse(200, found)
