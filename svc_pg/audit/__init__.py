"""Record every change of a table with its actor, and read the log.

``reconcile`` is loaded when it is first used: what compares tables renders SQL, and what reads the log does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svc_pg.audit.actors import aactor, actor
from svc_pg.audit.certificates import (
    Certificate,
    CertifiedEntry,
    acertify,
    acertify_erasure,
    acertify_record,
    certify,
    certify_erasure,
    certify_record,
)
from svc_pg.audit.context import Actor, acting, acting_as, current_actor
from svc_pg.audit.exports.evidence import EvidenceReport, aevidence, evidence
from svc_pg.audit.exports.exporting import aexport, export
from svc_pg.audit.keep.erasure import ErasureReport, aerase, erase
from svc_pg.audit.keep.holds import Hold, ahold, alift_hold, hold, holds, lift_hold
from svc_pg.audit.keep.manual import capture_log
from svc_pg.audit.keep.retention import apurge, purge
from svc_pg.audit.log.change import Change, FieldChange
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import ExportReport
from svc_pg.audit.log.purge_report import PurgeReport
from svc_pg.audit.log.reconciliation import Difference, Reconciliation, TableReport
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.audit.past.as_of import AsOf, as_of
from svc_pg.audit.past.blame import FieldOrigin, ablame, blame
from svc_pg.audit.past.diff import Diff, FieldDiff, PatchStep, diff
from svc_pg.audit.past.past_row import PastRow
from svc_pg.audit.past.record_history import History, RecordState, history
from svc_pg.audit.past.revert import arevert, revert
from svc_pg.audit.past.silences import Silence, asilences, silences
from svc_pg.audit.proofs import ProvenEntry, aprove, check_proof, prove
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.audit.read.coverage import CoverageQuery, coverage
from svc_pg.audit.read.covered_tables import CoverageCounts, CoveredTable
from svc_pg.audit.read.follow import follow
from svc_pg.audit.read.last_changes import alast_changes, last_changes
from svc_pg.audit.read.read_list import Reads, RecordRead, reads
from svc_pg.audit.read.transaction import transaction
from svc_pg.audit.related.answer import RelatedHistory
from svc_pg.audit.related.related import Related, related
from svc_pg.seals.database.log_verification import Verification, averify, verify
from svc_pg.seals.database.recorded_verifications import alast_verification, last_verification
from svc_pg.seals.database.stored_seals import SealLag, aseal_lag, aseals, seal_lag, seals
from svc_pg.seals.keys import PublicKeys, SealKey
from svc_pg.seals.timestamps import TimestampAuthority
from svc_pg.seals.verification.finding import Finding
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.sealing import aseal, seal
from svc_pg.status.last_verification import LastVerification

if TYPE_CHECKING:
    from svc_pg.audit.reconciliation.reconciling import areconcile, reconcile

__all__ = [
    "Actor",
    "AsOf",
    "AuditQuery",
    "Certificate",
    "CertifiedEntry",
    "Change",
    "CoverageCounts",
    "CoverageQuery",
    "CoveredTable",
    "Diff",
    "Difference",
    "Entry",
    "ErasureReport",
    "EvidenceReport",
    "ExportReport",
    "FieldChange",
    "FieldDiff",
    "FieldOrigin",
    "Finding",
    "History",
    "Hold",
    "LastVerification",
    "PastRow",
    "PatchStep",
    "Proof",
    "ProvenEntry",
    "PublicKeys",
    "PurgeReport",
    "Reads",
    "Reconciliation",
    "RecordRead",
    "RecordState",
    "Related",
    "RelatedHistory",
    "Seal",
    "SealKey",
    "SealLag",
    "Silence",
    "Snapshot",
    "TableReport",
    "TimestampAuthority",
    "Verification",
    "aactor",
    "ablame",
    "acertify",
    "acertify_erasure",
    "acertify_record",
    "acting",
    "acting_as",
    "actor",
    "aerase",
    "aevidence",
    "aexport",
    "ahold",
    "alast_changes",
    "alast_verification",
    "alift_hold",
    "aprove",
    "apurge",
    "areconcile",
    "arevert",
    "as_of",
    "aseal",
    "aseal_lag",
    "aseals",
    "asilences",
    "averify",
    "blame",
    "capture_log",
    "certify",
    "certify_erasure",
    "certify_record",
    "check_proof",
    "coverage",
    "current_actor",
    "diff",
    "erase",
    "evidence",
    "export",
    "follow",
    "history",
    "hold",
    "holds",
    "last_changes",
    "last_verification",
    "lift_hold",
    "prove",
    "purge",
    "query",
    "reads",
    "reconcile",
    "related",
    "revert",
    "seal",
    "seal_lag",
    "seals",
    "silences",
    "transaction",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in ("areconcile", "reconcile"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("svc_pg.audit.reconciliation.reconciling"), name)
