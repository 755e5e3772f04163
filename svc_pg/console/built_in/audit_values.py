"""The route of the values that a filter of the audit log can have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from svc_pg.audit.read.known_values import NAMED, KnownValues, Named
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import visible
from svc_pg.console.documentation import one_of, text
from svc_pg.console.parameters import FilterParameter, bounded, documented, filtered, one_among, refuse
from svc_pg.console.products import ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleResponse

MOST_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True)
class _Asked:
    name: Named | None = None
    text: str = ""


def _with_text(asked: _Asked, given: str) -> _Asked:
    return replace(asked, text=bounded(given, MOST_CHARACTERS))


_named: Final = one_among(NAMED)
_ASKED: Final[dict[str, FilterParameter[_Asked]]] = {
    "of": FilterParameter(
        lambda asked, given: replace(asked, name=_named(given)),
        "the filter whose values are wanted",
        one_of(NAMED),
        is_required=True,
    ),
    "text": FilterParameter(_with_text, "letters that the values have, in whatever case", text("ma")),
}


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
                query=documented(_ASKED),
                response=KnownValues,
            )
        ]

    async def _values(self, request: AuthenticatedRequest) -> ConsoleResponse:
        asked = filtered(_Asked(), request.query, _ASKED)
        if asked.name is None:
            refuse("of", f"is missing; write one of {', '.join(NAMED)}")
        return ConsoleResponse(200, await self.log.values(visible(request.session), asked.name, asked.text))
