"""The filters of the audit log: each is declared here, and its condition is a method of AuditQuery."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict, Unpack

from svc_pg.audit.log.conditions import Missable
from svc_pg.audit.log.entry import Operation
from svc_pg.audit.read import search
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.config.audited_table import Severity
from svc_pg.database.filters import Selects, applied
from svc_pg.database.pagination import PointInTime

_Texts = Sequence[str] | None


def _without(name: str) -> Callable[[AuditQuery, Sequence[str]], AuditQuery]:
    def apply(wanted: AuditQuery, values: Sequence[str]) -> AuditQuery:
        excluded: dict[str, Any] = {name: values}
        return wanted.without(**excluded)

    return apply


def _of_transaction(wanted: AuditQuery, xact_id: int) -> AuditQuery:
    return wanted.transactions(since=xact_id, before=xact_id + 1)


def _at_least(wanted: AuditQuery, severity: str) -> AuditQuery:
    return wanted.severity(at_least=severity)


class TimeFilter(TypedDict, total=False):
    """The times of entries: an aware datetime, or a duration before now, for example ``6h``."""

    since: Annotated[PointInTime | None, Selects(words="entries since this time")]
    until: Annotated[PointInTime | None, Selects(words="entries before this time")]


class EntryFilter(TimeFilter, total=False):
    """Conditions on entries; an entry must meet all that are not None, and of each one of its values."""

    resource: Annotated[
        _Texts,
        Selects(
            words="entries of this table: schema.table, or a table in public",
            example="public.customer",
            word="Table",
            option="table",
        ),
    ]
    not_resource: Annotated[
        _Texts,
        Selects(
            words="entries of tables but for this one",
            example="public.session",
            word="Not table",
            option="not-table",
            apply=_without("resource"),
        ),
    ]
    record: Annotated[
        str | None,
        Selects(
            words="entries of the record with this key; of several columns as a JSON array, as [7, 2]", example="42"
        ),
    ]
    actor: Annotated[_Texts, Selects(words="entries of this actor", example="ann@corp.example")]
    not_actor: Annotated[
        _Texts,
        Selects(words="entries but for those of this actor", example="ann@corp.example", apply=_without("actor")),
    ]
    tenant: Annotated[_Texts, Selects(words="entries of this tenant", example="acme")]
    not_tenant: Annotated[
        _Texts, Selects(words="entries but for those of this tenant", example="acme", apply=_without("tenant"))
    ]
    db_user: Annotated[
        _Texts, Selects(words="entries of this user of the database", example="postgres", word="Database user")
    ]
    operation: Annotated[Sequence[Operation] | None, Selects(words="entries of this operation")]
    not_operation: Annotated[
        Sequence[Operation] | None,
        Selects(words="entries but for those of this operation", apply=_without("operation")),
    ]
    label: Annotated[_Texts, Selects(words="entries with this label", example="Customer changed")]
    not_label: Annotated[
        _Texts,
        Selects(words="entries but for those with this label", example="Customer changed", apply=_without("label")),
    ]
    severity: Annotated[Sequence[Severity] | None, Selects(words="entries of this severity")]
    not_severity: Annotated[
        Sequence[Severity] | None, Selects(words="entries but for those of this severity", apply=_without("severity"))
    ]
    min_severity: Annotated[
        Severity | None,
        Selects(words="entries of this severity or a higher one", word="Severity at least", apply=_at_least),
    ]
    compliance: Annotated[_Texts, Selects(words="entries with this tag of compliance", example="gdpr")]
    not_compliance: Annotated[
        _Texts,
        Selects(
            words="entries but for those with this tag of compliance", example="gdpr", apply=_without("compliance")
        ),
    ]
    missing: Annotated[Sequence[Missable] | None, Selects(words="entries without this value", word="Without")]
    changed: Annotated[_Texts, Selects(words="updates that changed this field", example="email", word="Field")]
    transaction: Annotated[
        int | None,
        Selects(words="entries of one transaction, by the xactId of any of them", apply=_of_transaction),
    ]


class SearchFilter(TypedDict, total=False):
    """Searches of snapshots and contexts, for which a page looks at a stretch of the log."""

    contains: Annotated[
        str | None,
        Selects(
            words="entries of which a snapshot has these members: a JSON object, as jsonb @> compares",
            example='{"status": "paid"}',
            apply=search.contains,
        ),
    ]
    context: Annotated[
        str | None,
        Selects(
            words="entries whose context has this value, for example the id of a request or an address",
            example="203.0.113.7",
            word="Request or address",
            apply=search.with_fact,
        ),
    ]
    text: Annotated[
        str | None,
        Selects(
            words='entries with these words in their snapshots or description; "of a phrase", or, -without',
            example="refund -test",
            word="Words",
            is_search=True,
            apply=search.with_text,
        ),
    ]


def matching(**wanted: Unpack[EntryFilter]) -> AuditQuery:
    """A query of entries with a condition for each filter that is not None. Raises QueryError."""
    return applied(query(), EntryFilter, wanted)
