"""Certificates: entries with what proves them, of one entry, of a record, or of an erasure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from psycopg import AsyncConnection, Connection

from svc_pg.audit.log.entry import FROM, WITH_ID, columns
from svc_pg.audit.log.numbers import number_of
from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.read.audit_query import AuditQuery, query
from svc_pg.audit.reads.recording import arecord_ids, record_ids
from svc_pg.database.connections import apsycopg_connection, psycopg_connection
from svc_pg.database.effects import Effects
from svc_pg.database.performing import atake, take
from svc_pg.database.query import Query, RawJson
from svc_pg.database.table_names import TableName
from svc_pg.errors import NotFoundError
from svc_pg.formats.doc import Doc
from svc_pg.seals.database.entry_evidence import EntryEvidence, evidence_of
from svc_pg.seals.database.stored_seals import require_sealable
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.tree import root_of

MOST_ENTRIES: Final = 20
"""The most entries of a certificate, which is printed on one page."""
MOST_CHARACTERS: Final = 4 * 1024 * 1024
"""The most characters of their contents together, unless the first one has more."""
KIND: Final = "svc-pg audit certificate"
ERASED: Final = "audit log erased"
"""The label of the entry that tells of an erasure."""
_ERASURE: Final = columns(["id"]) + FROM + WITH_ID + " and table_name = 'svc.audit_logs' and label = %s"
_ERASED: Final = "select id from svc.audit_removed_leaves where removal = %s order by id limit %s"

Subject = Literal["entry", "record", "erasure"]
State = Literal["sealed", "not_sealed", "changed", "missing", "leaves_changed", "erased_unproven"]


@dataclass(frozen=True, slots=True)
class CertifiedEntry:
    """An entry of a certificate, and what proves it."""

    id: Annotated[str, Doc("The id of the entry.", "184467")]
    state: Annotated[
        State,
        Doc(
            "`sealed` if the entry leads to the root of its seal, whose signature is left to you. `changed` if its seal"
            " has another leaf with this id, `missing` if it has none. With `leaves_changed`, the leaves that the"
            " database keeps lead to another root. `erased_unproven` if its contents were erased, and what is left does"
            " not name the record of the certificate."
        ),
    ]
    place: Annotated[
        int | None, Doc("Its place among the entries of its seal, counted from 0; null if it has none.", 188)
    ]
    sealed_leaf: Annotated[
        str | None,
        Doc(
            "The 48 bytes of the leaf that was sealed, in hexadecimal, if the entry is `changed`; else null.",
            "000000000002d093" + "0002e0d1c6f0a400" + "913b848e" * 8,
        ),
    ]
    proof: Annotated[
        RawJson | None,
        Doc("The proof, as `svc-pg prove` prints it; null if it is `not_sealed`, or two rows of the log have its id."),
    ]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Entries with their proofs, which the verifier in one file verifies with the public key alone."""

    kind: Annotated[Literal["svc-pg audit certificate"], Doc("The kind of the file.", "svc-pg audit certificate")]
    version: Annotated[int, Doc("Its version.", 1)]
    subject: Annotated[Subject, Doc("The thing that it is about.", "record")]
    table: Annotated[str | None, Doc("The table of the record; null unless it is about one.", "public.orders")]
    record: Annotated[str | None, Doc("The key of the record; null unless it is about one.", "900")]
    digest: Annotated[
        str | None,
        Doc(
            "The root of the hash tree (RFC 9162) over the leaves of its `sealed` entries in their order; of one entry"
            " its lowest node. Null if no entry is sealed.",
            "0c581d0dc7ecf31903a7e4f56f762d09782fda99a8b6252eca4ad9764d6a33c4",
        ),
    ]
    entries: Annotated[
        Sequence[CertifiedEntry],
        Doc("The entries, the newest first; of an erasure the entry that tells of it, then those that it erased."),
    ]
    is_complete: Annotated[
        bool, Doc("False if there are more entries than these, which are 20 at most, of 5 seals and 4 MiB of contents.")
    ]


def certify(conn: Connection[Any], entry_id: str | int) -> Certificate:
    """The certificate of one entry, whatever its state.

    Raises NotFoundError, QueryError for an unusable id, ConfigError on other databases, ReadNotRecordedError and
    NotInstalledError.
    """
    require_sealable(conn)
    return kept_on_record(conn, take(conn, _of_entry(number_of(str(entry_id)))))


async def acertify(conn: AsyncConnection[Any], entry_id: str | int) -> Certificate:
    """As ``certify``, on an async connection."""
    require_sealable(conn)
    return await akept_on_record(conn, await atake(conn, _of_entry(number_of(str(entry_id)))))


def certify_record(conn: Connection[Any], table: str, key: object) -> Certificate:
    """The certificate of the newest entries of one record; a tuple is its key, if several columns are.

    Raises NotFoundError if the log has no entry of it, and as ``certify``.
    """
    require_sealable(conn)
    with psycopg_connection(conn).transaction():
        page = _newest(table, key).list(conn)
    return kept_on_record(conn, take(conn, _of_record(table, key, [int(entry.id) for entry in page])))


async def acertify_record(conn: AsyncConnection[Any], table: str, key: object) -> Certificate:
    """As ``certify_record``, on an async connection."""
    require_sealable(conn)
    async with (await apsycopg_connection(conn)).transaction():
        page = await _newest(table, key).alist(conn)
    return await akept_on_record(conn, await atake(conn, _of_record(table, key, [int(entry.id) for entry in page])))


def certify_erasure(conn: Connection[Any], entry_id: str | int) -> Certificate:
    """The certificate of an erasure, by the id of the entry that tells of it.

    It has the entries that had a seal when they were erased, without what was taken from them. Raises NotFoundError if
    this entry tells of none, and as ``certify``.
    """
    require_sealable(conn)
    return kept_on_record(conn, take(conn, _of_erasure(number_of(str(entry_id)))))


async def acertify_erasure(conn: AsyncConnection[Any], entry_id: str | int) -> Certificate:
    """As ``certify_erasure``, on an async connection."""
    require_sealable(conn)
    return await akept_on_record(conn, await atake(conn, _of_erasure(number_of(str(entry_id)))))


def kept_on_record(conn: Connection[Any], found: Certificate) -> Certificate:
    """The certificate, when it is recorded whose records it shows."""
    record_ids(conn, [int(entry.id) for entry in found.entries], {"of": f"certify {found.subject}"})
    return found


async def akept_on_record(conn: AsyncConnection[Any], found: Certificate) -> Certificate:
    """As ``kept_on_record``, on an async connection."""
    await arecord_ids(conn, [int(entry.id) for entry in found.entries], {"of": f"certify {found.subject}"})
    return found


def _newest(table: str, key: object) -> AuditQuery:
    return query().resource(table).record(key).only("operation").limit(MOST_ENTRIES + 1)


@dataclass(frozen=True, slots=True)
class _Id:
    id: int


def _of_entry(entry_id: int) -> Effects[Certificate]:
    found: Sequence[EntryEvidence] = yield from evidence_of([entry_id], most_characters=MOST_CHARACTERS)
    if not found:
        raise NotFoundError(f"there is no entry {entry_id}")
    return _certificate("entry", found)


def _of_record(table: str, key: object, entry_ids: Sequence[int]) -> Effects[Certificate]:
    if not entry_ids:
        raise NotFoundError(f"the log has no entry of record {key} of {table}")
    return (yield from _listed("record", entry_ids, str(TableName.parse(table)), record_id(key)))


def _of_erasure(entry_id: int) -> Effects[Certificate]:
    if not (yield Query(_ERASURE, (entry_id, entry_id, ERASED), _Id)):
        raise NotFoundError(f"entry {entry_id} tells of no erasure")
    erased: list[_Id] = yield Query(_ERASED, (entry_id, MOST_ENTRIES), _Id)
    return (yield from _listed("erasure", [entry_id, *(each.id for each in erased)]))


def _listed(
    subject: Subject, entry_ids: Sequence[int], table: str | None = None, key: str | None = None
) -> Effects[Certificate]:
    found: Sequence[EntryEvidence] = yield from evidence_of(entry_ids[:MOST_ENTRIES], most_characters=MOST_CHARACTERS)
    return _certificate(subject, found, table, key, is_complete=len(found) == len(entry_ids))


def _certificate(
    subject: Subject,
    found: Sequence[EntryEvidence],
    table: str | None = None,
    key: str | None = None,
    *,
    is_complete: bool = True,
) -> Certificate:
    entries = [_certified(each, table, key) for each in found]
    return Certificate(KIND, 1, subject, table, key, _digest_of(found, entries), entries, is_complete)


def _digest_of(found: Sequence[EntryEvidence], entries: Sequence[CertifiedEntry]) -> str | None:
    """The digest of a certificate with these entries; None if none of them is sealed."""
    both = zip(found, entries, strict=True)
    proofs = [each.proof for each, entry in both if entry.state == "sealed" and each.proof is not None]
    return root_of(bytes(proof.leaf) for proof in proofs).hex() if proofs else None


def _certified(evidence: EntryEvidence, table: str | None, key: str | None) -> CertifiedEntry:
    sealed, proof = evidence.sealed_leaf, evidence.proof
    state: State = evidence.state
    if state == "sealed" and table is not None and proof is not None and not _names(proof, table, key):
        state = "erased_unproven"
    return CertifiedEntry(
        str(evidence.entry_id),
        state,
        evidence.place,
        None if sealed is None else sealed.hex(),
        None if proof is None else RawJson(proof.text),
    )


def _names(proof: Proof, table: str, key: str | None) -> bool:
    """True if an entry names the record, by what a seal has of it: where it is, or was before its key changed."""
    return json.loads(proof.who)[2] == table and key in proof.record_ids
