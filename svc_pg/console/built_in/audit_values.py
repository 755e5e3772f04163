"""The route of the values that a filter of the audit log can have."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.audit.read.known_values import NAMED, KnownValues
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import visible
from svc_pg.console.http.parameters import ValueQuestion
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse

_QUESTION: Final = ValueQuestion(NAMED, letters="letters that the values have, in whatever case", example="ma")


@dataclass(frozen=True, slots=True)
class ValueRoutes:
    """The handler, and the object that it needs."""

    log: ConsoleLog

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/values",
                operation_id="entries.values",
                handler=self._values,
                is_compressed=True,
                serves_tenants=True,
                summary="Values of a filter that have some letters, for example of all actors of the log",
                query=_QUESTION.documented(),
                response=KnownValues,
            )
        ]

    async def _values(self, request: AuthenticatedRequest) -> ConsoleResponse:
        name, letters = _QUESTION.read(request.query)
        return ConsoleResponse(200, await self.log.values(visible(request.session), name, letters))
