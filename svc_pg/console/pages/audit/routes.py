"""The pages of the audit log, with their paths below ``/ui``."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages.audit import entry, log, record, selection, tail, take_back, then, transaction
from svc_pg.console.pages.navigation import AUDIT, Place
from svc_pg.console.pages.page_route import PageRoute
from svc_pg.console.pages.visit import PAGES

AUDIT_LOG: Final[Sequence[PageRoute]] = [
    PageRoute(
        "GET",
        "/audit",
        log.listed,
        place=Place(word="Audit log", icon="log", group=AUDIT, key="a", product="audit"),
        filters=log.POSITIONS,
        lists=[*selection.WORDS],
    ),
    PageRoute(
        "GET",
        "/tail",
        tail.shown,
        place=Place(word="Live tail", icon="tail", group=AUDIT, key="t", product="audit"),
        filters=["after"],
        lists=[*selection.WORDS],
    ),
    PageRoute("GET", "/audit/export", log.export, filters=["format"], lists=[*selection.WORDS]),
    PageRoute("GET", "/audit/entries/:id", entry.shown),
    PageRoute("GET", "/audit/entries/:id/:side", entry.snapshot),
    PageRoute("GET", "/audit/entries/:id/revert", take_back.of_entry),
    PageRoute("GET", "/audit/entries/:id/revert.sql", take_back.entry_file),
    PageRoute("GET", "/audit/transactions/:id", transaction.shown),
    PageRoute("GET", "/audit/transactions/:id/revert", take_back.of_transaction),
    PageRoute("GET", "/audit/transactions/:id/revert.sql", take_back.transaction_file),
    PageRoute("GET", "/audit/records/:table/:id", record.shown, filters=PAGES),
    PageRoute("GET", "/audit/records/:table/:id/then", then.shown, filters=["time"]),
]
