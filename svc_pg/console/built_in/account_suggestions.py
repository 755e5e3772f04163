"""The route of suggestions for what somebody types: its looks together have a bound in time and number."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.suggestion_looks import SuggestionLooks
from svc_pg.console.database.pool import Database
from svc_pg.console.http.documentation import one_of, text
from svc_pg.console.http.parameters import FilterParameter, bounded, documented, filtered, one_among
from svc_pg.console.http.products import ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.console.views.suggestions import (
    KINDS,
    MOST_CHARACTERS,
    Suggestion,
    SuggestionKind,
    Suggestions,
    command,
)
from svc_pg.errors import QueryError

_MOST_HERE: Final = 2_000
_ABSENT: Final = frozenset(
    {
        *("not_installed", "not_supported", "access_denied", "tenant_table_missing"),
        *("unknown_entry", "invalid_value", "invalid_parameter"),
    }
)
"""Codes of problems for which there is nothing to suggest; others are those of the answer."""
_SLOW: Final = frozenset({"database_timeout", "database_busy"})
LONGEST_SECONDS: Final = 3
"""The time of all looks of a call together."""
_LATE: Final = "Not all was looked at in time."


@dataclass(frozen=True, slots=True)
class _Asked:
    text: str = ""
    here: str = ""
    kind: SuggestionKind | None = None


def _text(asked: _Asked, given: str) -> _Asked:
    return replace(asked, text=bounded(given, MOST_CHARACTERS).strip())


def _here(asked: _Asked, given: str) -> _Asked:
    return replace(asked, here=bounded(given, _MOST_HERE))


_kind: Final = one_among(KINDS)
_ASKED: Final[dict[str, FilterParameter[_Asked]]] = {
    "q": FilterParameter(
        _text, "the text that somebody typed: a name, an id, a key, or an action", text("pause northwind")
    ),
    "here": FilterParameter(
        _here, "the page that somebody looks at, below `/ui`, for `export this`", text("/audit/records/orders/900")
    ),
    "kind": FilterParameter(
        lambda asked, given: replace(asked, kind=_kind(given)),
        "suggestions of this kind alone; for others nothing is looked at",
        one_of(KINDS),
    ),
}


@dataclass(frozen=True, slots=True)
class SuggestionRoutes:
    """The handler, and the objects that it needs."""

    database: Database
    log: ConsoleLog
    config: AuditConfig
    tenants: KnownTenants

    def endpoints(self) -> Sequence[ProductEndpoint]:
        """The routes."""
        return [
            ProductEndpoint(
                method="GET",
                path="/suggestions",
                operation_id="suggestions.list",
                handler=self._list,
                serves_tenants=True,
                summary="Things and actions that a text may mean, of those that the session may see and do",
                query=documented(_ASKED),
                response=Suggestions,
            )
        ]

    async def _list(self, request: AuthenticatedRequest) -> ConsoleResponse:
        asked = filtered(_Asked(), request.query, _ASKED)
        found: list[Suggestion] = []
        remarks: list[str] = []
        if asked.text:
            looks = SuggestionLooks(self.database, self.log, self.config, self.tenants, request.session, remarks)
            given = command(asked.text) if asked.kind in (None, "action") else None
            parts = [looks.done(given, asked.here)] if given is not None else []
            parts += looks.all_of(asked.text, asked.kind)
            try:
                async with asyncio.timeout(LONGEST_SECONDS):
                    for part in parts:
                        await _add(found, part, remarks)
            except TimeoutError:
                remarks.append(_LATE)
        wanted: dict[tuple[str, str, str], Suggestion] = {}
        for each in found:
            if asked.kind in (None, each.kind):
                wanted.setdefault((each.kind, each.label, each.address), each)
        return ConsoleResponse(200, Suggestions(list(wanted.values())[:40], list(dict.fromkeys(remarks))))


async def _add(found: list[Suggestion], part: AsyncIterator[Suggestion], remarks: list[str]) -> None:
    """Add what a look finds, up to where the database has no answer for this session, or none in time."""
    try:
        async for each in part:
            found += [each]  # one by one: those before a problem stay
    except Problem as problem:
        if problem.code in _SLOW:
            remarks.append(_LATE)
        elif problem.code not in _ABSENT:
            raise
    except QueryError:  # no id
        pass
