"""The pages of the audit log, with their paths below ``/ui``."""

from collections.abc import Sequence
from typing import Final

from svc_pg.console.pages import asking
from svc_pg.console.pages.audit import (
    as_of_page,
    coverage_page,
    entry,
    log,
    offers,
    proof_page,
    record,
    related_page,
    revert_page,
    selection,
    tail,
    tracks_page,
    transaction,
)
from svc_pg.console.pages.navigation import AUDIT, NavItem
from svc_pg.console.pages.page_request import PAGES
from svc_pg.console.pages.page_route import PageRoute

AUDIT_LOG: Final[Sequence[PageRoute]] = [
    PageRoute(
        "GET",
        "/audit",
        log.log_page,
        is_compressed=True,
        nav_item=NavItem(word="Audit log", icon="log", group=AUDIT, key="a", product="audit"),
        filters=(*log.POSITIONS, log.VIEW, *asking.ASKED),
        lists=[*selection.WORDS],
    ),
    PageRoute(
        "GET",
        "/tail",
        tail.tail_page,
        is_compressed=True,
        nav_item=NavItem(word="Live tail", icon="tail", group=AUDIT, key="t", product="audit"),
        filters=["after"],
        lists=[*selection.WORDS],
    ),
    PageRoute(
        "GET",
        "/coverage",
        coverage_page.coverage_page,
        is_compressed=True,
        nav_item=NavItem(word="Coverage", icon="cover", group=AUDIT, key="b", product="audit"),
        filters=[*coverage_page.WORDS, *PAGES],
    ),
    PageRoute("GET", "/audit/offers", offers.offers_page, is_compressed=True, filters=[asking.QUESTION]),
    PageRoute("GET", "/audit/export", log.export, is_compressed=True, filters=["format"], lists=[*selection.WORDS]),
    PageRoute("GET", "/audit/entries/:id", entry.entry_page, is_compressed=True),
    PageRoute("GET", "/audit/entries/:id/:side", entry.snapshot),
    PageRoute("GET", "/audit/entries/:id/proof", proof_page.entry_proof, is_compressed=True),
    PageRoute("GET", "/audit/entries/:id/erasure", proof_page.erasure_certificate, is_compressed=True),
    PageRoute("GET", "/audit/entries/:id/revert", revert_page.of_entry, lists=["leave"]),
    PageRoute("GET", "/audit/entries/:id/revert.sql", revert_page.entry_file, lists=["leave"]),
    PageRoute("GET", "/audit/transactions/:id", transaction.transaction_page, is_compressed=True, filters=PAGES),
    PageRoute("GET", "/audit/transactions/:id/revert", revert_page.of_transaction, lists=["leave"]),
    PageRoute("GET", "/audit/transactions/:id/revert.sql", revert_page.transaction_file, lists=["leave"]),
    PageRoute("GET", "/audit/records/:table/:id", record.record_page, is_compressed=True, filters=PAGES),
    PageRoute("GET", "/audit/records/:table/:id/certificate", proof_page.record_certificate, is_compressed=True),
    PageRoute("GET", "/audit/records/:table/:id/certificate.json", proof_page.record_file),
    PageRoute(
        "GET",
        "/audit/records/:table/:id/as-of",
        as_of_page.as_of_page,
        is_compressed=True,
        filters=["time", "with"],
    ),
    PageRoute(
        "GET",
        "/audit/records/:table/:id/tracks",
        tracks_page.tracks_page,
        is_compressed=True,
        filters=tracks_page.FILTERS,
    ),
    PageRoute(
        "GET",
        "/audit/records/:table/:id/related",
        related_page.related_page,
        is_compressed=True,
        filters=related_page.FILTERS,
    ),
]
