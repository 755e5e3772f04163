"""Queries of the audit log, each with the selected records among the entries of ``WRITTEN``."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from svc_pg.audit import AuditQuery

NOW: Final = datetime(2026, 3, 15, 12, tzinfo=UTC)

WRITTEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "1": {"severity": "low", "changed_fields": ["email", "phone"], "tenant_id": "acme"},
    "2": {
        "severity": "medium",
        "compliance": ["soc2", "gdpr"],
        "changed_fields": ["email"],
        "actor_id": "o'hara",
    },
    "3": {"severity": "high", "label": "card changed", "changed_fields": ["card"]},
    "4": {"severity": "critical", "compliance": ["gdpr"]},
    "5": {"operation": "DELETE", "tenant_id": "acme"},
}
"""The columns of each record's entry, its time in minutes after NOW; the fifth is of table invoice."""

SELECTED: Final[list[tuple[Callable[[AuditQuery], AuditQuery], str]]] = [
    (lambda q: q.severity("high"), "3"),
    (lambda q: q.severity(at_least="medium"), "4 3 2"),
    (lambda q: q.severity(at_least="low"), "4 3 2 1"),
    (lambda q: q.compliance("gdpr"), "4 2"),
    (lambda q: q.label("card changed"), "3"),
    (lambda q: q.changed("email"), "2 1"),
    (lambda q: q.tenant("acme"), "5 1"),
    (lambda q: q.actor("o'hara"), "2"),
    (lambda q: q.record("4"), "4"),
    (lambda q: q.operation("DELETE"), "5"),
    (lambda q: q.resource("invoice"), "5"),
    (lambda q: q.since(NOW + timedelta(minutes=4)), "5 4"),
    (lambda q: q.until(NOW + timedelta(minutes=2)), "1"),
    (lambda q: q.compliance("gdpr").severity(at_least="high"), "4"),
    (lambda q: q.label("nobody's"), ""),
    (lambda q: q.actor("o'hara", "x"), "2"),
    (lambda q: q.resource("invoice", "public.t").severity("low", "high"), "3 1"),
    (lambda q: q.operation("DELETE", "INSERT"), "5"),
    (lambda q: q.tenant("acme", "x"), "5 1"),
    (lambda q: q.label("card changed", "x"), "3"),
    (lambda q: q.compliance("soc2", "x"), "2"),
    (lambda q: q.changed("phone", "card"), "3 1"),
    (lambda q: q.without(actor=["o'hara"]), "5 4 3 1"),
    (lambda q: q.without(tenant=["acme"], severity=["high", "low"]), "4 2"),
    (lambda q: q.without(resource=["t"]), "5"),
    (lambda q: q.without(operation=["UPDATE"]), "5"),
    (lambda q: q.without(label=["card changed"], compliance=["soc2", "x"]), "5 4 1"),
    (lambda q: q.missing("severity"), "5"),
    (lambda q: q.missing("actor", "compliance", "tenant", "label").missing("record"), ""),
    (lambda q: q.missing("actor", "compliance", "tenant"), "3"),
]
