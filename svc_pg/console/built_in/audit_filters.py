"""The filters of the audit log as parameters of a query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar, get_args

from pydantic.alias_generators import to_camel

from svc_pg.audit.log.entry import ALWAYS, FIELDS, OPERATIONS, SEVERITIES, Order
from svc_pg.audit.read import search
from svc_pg.audit.read.audit_query import MAX_VALUES, MISSING, AuditQuery, query
from svc_pg.console.documentation import TEXT, JsonSchema, one_of
from svc_pg.console.parameters import PAGE, FilterParameter, point_in_time, whole_number
from svc_pg.console.tokens import Session

Filters = Mapping[str, FilterParameter[AuditQuery]]

_NUMBER: Final[JsonSchema] = {"type": "string", "pattern": "^[0-9]{1,18}$"}
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


def _transaction(builder: AuditQuery, text: str) -> AuditQuery:
    xact_id = whole_number(text)
    return builder.transactions(since=xact_id, before=xact_id + 1)


def _fields(builder: AuditQuery, text: str) -> AuditQuery:
    names = text.split(",")
    if unknown := [name for name in names if name not in _NAMES]:
        raise ValueError(f"{unknown[0]!r} is no field of an entry; fields are {', '.join(_NAMES)}")
    return builder.only(*(_NAMES[name] for name in names))


def _among(
    apply: Callable[..., AuditQuery], excluded: str, description: str, schema: JsonSchema = TEXT
) -> dict[str, FilterParameter[AuditQuery]]:
    """A filter that takes several values, and the one that leaves these out."""
    name = f"not{excluded.title()}"

    def leave_out(builder: AuditQuery, *texts: str) -> AuditQuery:
        values: dict[str, Any] = {excluded: texts}
        return builder.without(**values)

    return {
        excluded: FilterParameter(apply, f"{description}; several are alternatives", schema, MAX_VALUES),
        name: FilterParameter(leave_out, f"leave these out: {description}", schema, MAX_VALUES),
    }


TIMES: Final[Filters] = {
    "since": FilterParameter(
        lambda builder, text: builder.since(point_in_time(text)),
        "entries from then on: RFC 3339, or a duration before now such as 1h",
    ),
    "until": FilterParameter(
        lambda builder, text: builder.until(point_in_time(text)),
        "entries before then: RFC 3339, or a duration before now such as 1h",
    ),
}
WHICH: Final[Filters] = {
    **_among(AuditQuery.resource, "resource", "entries of this table: schema.table, or a table in public"),
    "record": FilterParameter(
        AuditQuery.record, "entries of the record with that key; several key columns as a JSON array: [7, 2]"
    ),
    **_among(AuditQuery.actor, "actor", "entries of this actor"),
    **_among(AuditQuery.tenant, "tenant", "entries of this tenant"),
    **_among(AuditQuery.operation, "operation", "entries of this operation", one_of(OPERATIONS)),
    **_among(AuditQuery.label, "label", "entries with that label"),
    **_among(AuditQuery.severity, "severity", "entries of this severity", one_of(SEVERITIES)),
    "minSeverity": FilterParameter(
        lambda builder, text: builder.severity(at_least=text),
        "entries of that severity or a higher one",
        one_of(SEVERITIES),
    ),
    **_among(AuditQuery.compliance, "compliance", "entries with that tag of compliance"),
    "missing": FilterParameter(AuditQuery.missing, "entries without that value", one_of(MISSING), len(MISSING)),
    "changed": FilterParameter(
        AuditQuery.changed, "updates that changed that field; several are alternatives", TEXT, MAX_VALUES
    ),
    "transaction": FilterParameter(_transaction, "entries of one transaction, by the xactId of any of them", _NUMBER),
    **TIMES,
}
SEARCHES: Final[Filters] = {
    "contains": FilterParameter(
        search.contains, "entries of which a snapshot has these members: a JSON object, as jsonb @> compares"
    ),
    "context": FilterParameter(
        search.with_fact, "entries whose context has this value, for example the id of a request or an address"
    ),
    "text": FilterParameter(
        search.with_text, 'entries with these words in their snapshots or description; "of a phrase", or, -without'
    ),
}
_SHOWN: Final[Filters] = {
    "fields": FilterParameter(
        _fields,
        "the fields to show, separated by commas, for example to leave out the snapshots;"
        f" {', '.join(map(to_camel, ALWAYS))} always come",
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
