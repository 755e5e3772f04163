"""The integrity of the system: the result of the last verification of the log, and the drift from the configuration."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from svc_pg.audit.past.silences import Silence
from svc_pg.audit.read.covered_tables import CoverageCounts
from svc_pg.console.built_in.audit_proof import EntrySeal
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.status.system_status import SystemStatus
from svc_pg.database.pagination import Page
from svc_pg.formats.plurals import counted
from svc_pg.status.last_verification import LastVerification

_LONGEST_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Integrity:
    """The number of differences between the log and its seals, and of objects that are not as configured."""

    findings: int
    differing: int

    @property
    def count(self) -> int:
        """Both together."""
        return self.findings + self.differing


UNKNOWN: Final = Integrity(0, 0)


@dataclass(frozen=True, slots=True)
class IntegrityFact:
    """One fact for people: a tone and an icon, a word, a time or a text, a note, and the page that tells more."""

    word: str
    tone: str
    icon: str
    note: str
    time: datetime | None = None
    text: str = ""
    address: str | None = None


async def integrity(request: PageRequest) -> Integrity:
    """The integrity; UNKNOWN if it is not found within half a second, or the person may not see it."""
    status = await system_status(request)
    if status is None:
        return UNKNOWN
    return integrity_of(status)


def integrity_of(status: SystemStatus | None) -> Integrity:
    """The integrity as a status tells it."""
    if status is None:
        return UNKNOWN
    verified = status.verification
    return Integrity(verified.findings if verified else 0, status.drift.count)


async def system_status(request: PageRequest) -> SystemStatus | None:
    """The status; None if it is not found within half a second, or the person may not see it.

    The comparison with the configuration goes on meanwhile, so that a later page knows its result.
    """
    if not request.has("system"):
        return None
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            return await request.api.get(SystemStatus, "account", "system")
    except (Problem, TimeoutError):
        return None


@dataclass(frozen=True, slots=True)
class EntryProof:
    """The seal of an entry, and the last verification if that covers the seal."""

    sealing: EntrySeal
    verification: LastVerification | None


async def proof_of(request: PageRequest, entry_id: str) -> EntryProof | None:
    """The proof of an entry; None if this person, or this log, has none to show."""
    if not request.sees_whole_log:
        return None
    sealing = await request.api.get(EntrySeal, "audit", "entries", entry_id, "seal")
    if not sealing.has_seals:
        return None
    status = await system_status(request) if sealing.seal and request.is_log_here else None
    verified = status.verification if status else None
    is_covered = verified is not None and sealing.seal is not None and _covers(verified, sealing.seal.number)
    return EntryProof(sealing, verified if is_covered else None)


def _covers(verified: LastVerification, seal: int) -> bool:
    first, last = verified.first_seal, verified.last_seal
    return first is not None and last is not None and first <= seal <= last


async def silences_of(request: PageRequest, table: str) -> Sequence[Silence]:
    """The times in which capture of a table was not right, the newest first; none if this person may not see them."""
    if not request.sees_whole_log:
        return []
    try:
        return (await request.api.get(Page[Silence], "audit", "tables", table, "silences")).data
    except Problem as problem:
        if problem.code not in ("unknown_table", "not_supported"):
            raise
        return []


async def coverage_counts(request: PageRequest) -> CoverageCounts | None:
    """The counts of the coverage; None if they are not found within half a second, or there are none."""
    if not (request.has("coverage") and request.sees_whole_log):
        return None
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            return await request.api.get(CoverageCounts, "audit", "coverage", "counts")
    except (Problem, TimeoutError):
        return None


def facts_of(
    request: PageRequest, status: SystemStatus | None, counts: CoverageCounts | None
) -> Sequence[IntegrityFact]:
    """The facts that an auditor asks for first: the last seal, verification and comparison, the guards, and drift."""
    if status is None:
        return []
    found = [_sealed(status), _verified(status)]
    if counts is not None:
        found.append(_reconciled(counts))
    system = request.url("system")
    found = [replace(fact, address=fact.address or system) for fact in [*found, _guards(status)]]
    return [*found, _drift(request, status, counts)]


def _sealed(status: SystemStatus) -> IntegrityFact:
    proof = status.proof
    if proof.last_seal is None:
        return IntegrityFact("Not sealed", "wait", "warn", "svc-pg seal proves the log", text="never")
    waiting = "entries wait for the next" if proof.unsealed_since else "no entry waits"
    return IntegrityFact("Sealed", "ok", "ok", f"seal {proof.last_seal:,}; {waiting}", time=proof.last_sealed_at)


def _verified(status: SystemStatus) -> IntegrityFact:
    verified = status.verification
    if verified is None:
        return IntegrityFact("Not verified", "wait", "warn", "svc-pg verify compares the seals", text="never")
    note = f"{counted(verified.entries, 'entry')}, {counted(verified.findings, 'finding')}"
    tone, icon = ("bad", "warn") if verified.findings else ("ok", "ok")
    word = "Not as sealed" if verified.findings else "Verified"
    return IntegrityFact(word, tone, icon, note, time=verified.verified_at)


def _reconciled(counts: CoverageCounts) -> IntegrityFact:
    found = counts.reconciled
    if found.last_at is None:
        return IntegrityFact("Not reconciled", "wait", "warn", "svc-pg reconcile compares the tables", text="never")
    note = f"{counted(found.tables, 'table')}, {counted(found.unrepaired, 'difference')} left"
    tone, icon = ("bad", "warn") if found.unrepaired else ("ok", "ok")
    return IntegrityFact("Reconciled", tone, icon, note, time=found.last_at)


def _guards(status: SystemStatus) -> IntegrityFact:
    if status.drift.problem is not None:
        return IntegrityFact("Guards", "wait", "warn", "not compared with the configuration", text="unknown")
    if off := status.drift.guards:
        return IntegrityFact("Guards", "bad", "warn", "entries may be changed", text=f"{off:,} off")
    return IntegrityFact("Guards", "ok", "ok", "no statement changes an entry", text="in place")


def _drift(request: PageRequest, status: SystemStatus, counts: CoverageCounts | None) -> IntegrityFact:
    drift = status.drift
    if drift.problem is not None:
        return IntegrityFact("Drift", "wait", "warn", "not compared", text="unknown", address=request.url("system"))
    tables = counts.drifting if counts else 0
    address = request.to.coverage(state="drifting") if tables else request.url("system")
    if not drift.count and not tables:
        note = f"{counted(drift.objects, 'object')} as configured"
        return IntegrityFact("Drift", "ok", "ok", note, text="none", address=address)
    objects = counted(drift.count, "object")
    text = counted(tables, "table") if tables else objects
    return IntegrityFact("Drift", "bad", "warn", f"{objects} not as configured", text=text, address=address)
