"""The pages of proofs: one entry up to the root of its seal; and the certificates of a record and of an erasure.

Nothing on them says that something is verified: that says the browser, by the script proof.js, when it has done it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from svc_pg.audit.certificates import Certificate, CertifiedEntry
from svc_pg.audit.log.entry import FIELDS, Entry
from svc_pg.console.built_in.audit_certificates import SealPublicKey, SealPublicKeys
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, Html, saved
from svc_pg.console.pages.audit import changes, proof_drawing, record_names
from svc_pg.console.pages.audit.proof_drawing import Node, QrCode
from svc_pg.console.pages.differences.work import MOST_IN_A_LIST, Work
from svc_pg.console.pages.integrity import proof_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.formats.json_writer import encode
from svc_pg.seals.verification.leaf import Leaf
from svc_pg.seals.verification.proof import FIRST_PART, Proof

ERASURE: Final = "erasure"
"""The fact in the context of an erased entry that names the entry which tells of the erasure."""


_FIRST: Final = sorted({*FIELDS} & {*FIRST_PART} - {"xact_id"})


@dataclass(frozen=True, slots=True)
class CertifiedRow:
    """An entry of a certificate: as the log shows it, with its proof, and the leaves if they differ.

    If its contents were erased, the entry has no field that the proof does not have.
    """

    certified: CertifiedEntry
    entry: Entry | None
    proof: Proof | None

    @property
    def sealed_leaf(self) -> Leaf | None:
        """The leaf that was sealed, if the entry is another now."""
        text = self.certified.sealed_leaf
        return None if text is None else Leaf.of(bytes.fromhex(text))

    @property
    def is_erased(self) -> bool:
        """True if nothing but the first part of the entry is proven, or can be."""
        if self.proof is not None:
            return self.proof.content is None
        return self.entry is not None and self.entry.is_erased


async def entry_proof(request: PageRequest) -> Answer:
    """One entry, its proof as a tree, and all that a printed certificate needs."""
    entry_id = request.params["id"]
    entry = await request.api.get(Entry, "audit", "entries", entry_id)
    certificate = await request.api.get(Certificate, "audit", "entries", entry_id, "certificate")
    [certified] = certificate.entries
    row = _row(certified, entry)
    nodes = _nodes(row)
    values = {
        **await _common(request, certificate, [row]),
        "row": row,
        "one": row.entry,
        "nodes": nodes,
        "drawing": proof_drawing.drawing_of(nodes) if nodes else None,
        "proof_state": await proof_of(request, entry.id),
        "erasure": _erasure_of(entry),
        "file": request.url("audit", "entries", entry.id, "certificate.json"),
        "name": f"entry-{entry.id}-certificate.json",
    }
    return Html("proof", values)


async def record_certificate(request: PageRequest) -> Answer:
    """The newest entries of a record, each with its proof."""
    table, key = request.params["table"], request.params["id"]
    certificate = await request.api.get(Certificate, "audit", "records", table, key, "certificate")
    values = {
        "table": table,
        "record_id": key,
        "file": request.url("audit", "records", table, key, "certificate.json"),
        "name": "record-certificate.json",
    }
    return await _certificate_page(request, certificate, values)


async def erasure_certificate(request: PageRequest) -> Answer:
    """The entry that tells of an erasure, and what is left of those that it erased."""
    entry_id = request.params["id"]
    certificate = await request.api.get(Certificate, "audit", "entries", entry_id, "erasure")
    values = {
        "file": request.url("audit", "entries", entry_id, "erasure.json"),
        "name": f"erasure-{entry_id}-certificate.json",
    }
    return await _certificate_page(request, certificate, values)


async def record_file(request: PageRequest) -> Answer:
    """The certificate of a record as a file."""
    table, key = request.params["table"], request.params["id"]
    found = await request.api.get(Certificate, "audit", "records", table, key, "certificate")
    return saved(encode(found).decode(), "record-certificate.json", "application/json")


async def entry_file(request: PageRequest, entry_id: str, route: str, name: str) -> Answer:
    """The certificate of an entry, or of the erasure of which it tells, as a file."""
    found = await request.api.get(Certificate, "audit", "entries", entry_id, route)
    return saved(encode(found).decode(), name, "application/json")


async def _certificate_page(request: PageRequest, certificate: Certificate, values: Mapping[str, object]) -> Answer:
    rows = [_row(certified, await _entry(request, certified.id)) for certified in certificate.entries]
    common = await _common(request, certificate, rows)
    first = rows[0].entry if rows else None
    told = _told(first) if certificate.subject == "erasure" and first is not None else {}
    called = None
    if certificate.subject == "record":
        entries = (row.entry for row in rows if row.entry is not None)
        called = next(filter(None, (record_names.name_of(entry, request.titles) for entry in entries)), None)
    return Html("certificate", {**common, **values, "rows": rows, "told": told, "called": called})


async def _entry(request: PageRequest, entry_id: str) -> Entry | None:
    """The entry; None if it was purged meanwhile."""
    try:
        return await request.api.get(Entry, "audit", "entries", entry_id)
    except Problem:
        return None


async def _common(request: PageRequest, certificate: Certificate, rows: Sequence[CertifiedRow]) -> Mapping[str, object]:
    known = (await request.api.get(SealPublicKeys, "audit", "seals", "keys")).keys
    used = [*dict.fromkeys(row.proof.seal.key_id for row in rows if row.proof is not None)]
    return {
        "certificate": certificate,
        "changes": changes,
        "names": record_names,
        "work": Work(most=MOST_IN_A_LIST),
        "known": {key.key_id: key for key in known},
        "keys": _keys(used, known),
        "all_keys": ",".join(f"{key.key_id}:{key.public_key}" for key in known),
        "code": _code(certificate),
    }


def _keys(used: Sequence[str], known: Sequence[SealPublicKey]) -> Sequence[tuple[str, SealPublicKey | None]]:
    """The ids of the keys that signed, each with the key that the console knows."""
    by_id = {key.key_id: key for key in known}
    return [(key_id, by_id.get(key_id)) for key_id in used]


def _code(certificate: Certificate) -> QrCode | None:
    return None if certificate.digest is None else proof_drawing.qr_code(certificate.digest)


def _row(certified: CertifiedEntry, entry: Entry | None) -> CertifiedRow:
    proof = None if certified.proof is None else Proof.parse(certified.proof.text)
    shown = entry if entry is None or proof is None or proof.content is not None else _left_of(entry, proof)
    return CertifiedRow(certified, shown, proof)


def _left_of(entry: Entry, proof: Proof) -> Entry:
    """The entry with the fields of the first part alone: the others of its row could be anybody's."""
    first = dict(zip(FIRST_PART, json.loads(proof.who)[1:], strict=True))
    return replace(
        entry,
        **{name: first[name] for name in _FIRST},
        xact_id=str(first["xact_id"]),
        before_data=None,
        after_data=None,
        description=None,
        redacted_fields=None,
        context=None,
    )


def _nodes(row: CertifiedRow) -> Sequence[Node]:
    place, proof = row.certified.place, row.proof
    if proof is None or place is None:
        return []
    leaf = bytes(proof.leaf) if row.sealed_leaf is None else bytes(row.sealed_leaf)
    return proof_drawing.nodes_of(proof, place, leaf)


def _erasure_of(entry: Entry) -> str | None:
    """The id of the entry that tells of the erasure of this one."""
    if not entry.is_erased or entry.context is None:
        return None
    found = changes.readable(entry.context)
    told = found.get(ERASURE) if isinstance(found, dict) else None
    return str(told) if isinstance(told, int | str) and str(told).isdecimal() else None


def _told(entry: Entry) -> Mapping[str, Any]:
    """The facts of an erasure: the record, and the numbers of entries."""
    found = changes.readable(entry.before_data)
    return found if isinstance(found, dict) else {}
