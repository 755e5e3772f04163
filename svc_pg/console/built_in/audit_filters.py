"""The filters of the audit log as parameters of a query."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar, get_args

from pydantic.alias_generators import to_camel

from svc_pg.audit.log.entry import ALWAYS, FIELDS, Order
from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter, TimeFilter
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.console.http.documentation import one_of, text
from svc_pg.console.http.parameters import PAGE, FilterParameter, declared
from svc_pg.console.http.tokens import Session

Filters = Mapping[str, FilterParameter[AuditQuery]]

_NAMES: Final = {to_camel(name): name for name in FIELDS}


@dataclass(frozen=True, slots=True)
class Asked:
    """The query that a call asks for; a subclass has the parameters beside it."""

    query: AuditQuery


AnyAsked = TypeVar("AnyAsked", bound=Asked)


def asked(filters: Filters, _: type[AnyAsked]) -> dict[str, FilterParameter[AnyAsked]]:
    """The filters, for a route that is asked for more than a query."""

    def lifted(wanted: FilterParameter[AuditQuery]) -> FilterParameter[AnyAsked]:
        return FilterParameter(partial(_applied, wanted), wanted.description, wanted.schema, wanted.max_values)

    return {name: lifted(wanted) for name, wanted in filters.items()}


def visible(session: Session) -> AuditQuery:
    """All entries that the session may see: those of its tenant, if it is of one."""
    return query() if session.tenant is None else query().tenant(session.tenant)


def _applied(wanted: FilterParameter[AuditQuery], asked: AnyAsked, *texts: str) -> AnyAsked:
    return replace(asked, query=wanted(asked.query, *texts))


def _fields(builder: AuditQuery, text: str) -> AuditQuery:
    names = text.split(",")
    if unknown := [name for name in names if name not in _NAMES]:
        raise ValueError(f"{unknown[0]!r} is no field of an entry; fields are {', '.join(_NAMES)}")
    return builder.only(*(_NAMES[name] for name in names))


TIMES: Final[Filters] = declared(TimeFilter)
WHICH: Final[Filters] = declared(EntryFilter)
SEARCHES: Final[Filters] = declared(SearchFilter)
_SHOWN: Final[Filters] = {
    "fields": FilterParameter(
        _fields,
        "the fields to show, separated by commas, for example to leave out the snapshots;"
        f" {', '.join(map(to_camel, ALWAYS))} always come",
        text("id,timestamp,operation"),
    ),
}
ENTRIES: Final[Filters] = {
    **WHICH,
    "order": FilterParameter(
        AuditQuery.order, "which entries come first", {**one_of(get_args(Order)), "default": "newest"}
    ),
    **SEARCHES,
    **_SHOWN,
    **PAGE,
}
HISTORY: Final[Filters] = {**TIMES, **_SHOWN, **PAGE}
