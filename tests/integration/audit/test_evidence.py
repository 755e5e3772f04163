"""The verifier in one file finds in an auditor's files what svc-pg verify finds in the database.

With SVC_TEST_UPDATE_SNAPSHOTS=1 it writes the files of each forgery, and what the database's verifier says of it, to
tests/vectors/.
"""

import asyncio
import io
import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import audit
from svc_pg.audit import Verification
from svc_pg.database.query import scalar
from svc_pg.errors import ConflictError, TransactionError
from svc_pg.seals.alone import verify_svc_pg as alone
from svc_pg.seals.writing.copy_line import line_of
from tests.support.evidence import VECTORS, result_of, run_alone
from tests.support.forged_logs import CONFIG, DDL, FORGERIES, KEY, Forgery, copies_of, forge, sealed_log
from tests.support.postgres import Prepare
from tests.support.tables import create_and_audit

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, DDL, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text(f"SVC_SEAL_PUBLIC_KEYS={KEY.public.text}\n")
    return file


def write(
    conn: Connection, folder: Path, *, since: datetime | None = None, until: datetime | None = None
) -> audit.EvidenceReport:
    folder.mkdir(exist_ok=True)
    with (folder / "export.ndjson").open("wb") as export, (folder / "seals.ndjson").open("wb") as seals:
        return audit.evidence(conn, export=export, seals=seals, since=since, until=until)


def expected_of(found: Verification) -> dict[str, Any]:
    names = ("seals", "entries", "unsealed", "purged", "erased")
    return {
        **{name: getattr(found, name) for name in names},
        "findings": [
            {"kind": each.kind, "seal": each.seal, "entry": None if each.entry is None else int(each.entry)}
            for each in found.findings
        ],
        "is_complete": found.is_complete,
    }


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.name)
def test_both_verifiers_agree_on_each_forgery(db: Connection, forgery: Forgery, tmp_path: Path) -> None:
    sealed_log(db)
    copies = copies_of(db, forgery)
    forge(db, forgery)
    found = audit.verify(db, public_keys=KEY.public, copies=copies)
    said = [(each.kind, each.entry) for each in found.findings]
    assert [kind for kind, _ in said] == [kind for kind, _ in forgery.expected]
    assert all(entry is None or entry == now for (_, entry), (_, now) in zip(forgery.expected, said, strict=True))
    is_renewed = bool(os.environ.get("SVC_TEST_UPDATE_SNAPSHOTS"))
    folder = VECTORS / forgery.name if is_renewed else tmp_path
    write(db, folder)
    if copies:
        (folder / "copies").write_bytes(b"".join(map(line_of, copies)))
    expected = expected_of(found)
    if is_renewed:
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    assert result_of(folder) == expected


def test_a_period_needs_only_its_own_entries(db: Connection, tmp_path: Path, key: Path) -> None:
    sealed_log(db)
    first = scalar(db, 'select min("timestamp") from svc.audit_logs where changed_fields is not null')
    time = first.isoformat()
    report = write(db, tmp_path, since=first)
    assert run_alone(tmp_path, key=key).stdout.startswith("entry 1 was deleted: it is not in the export")
    done = run_alone(tmp_path, "--since", time, key=key)
    assert (done.returncode, done.stdout.split(" entries")[0]) == (0, str(report.entries - 1))
    lines = (tmp_path / "export.ndjson").read_bytes().splitlines(keepends=True)
    (tmp_path / "export.ndjson").write_bytes(b"".join(lines[1:]))
    assert run_alone(tmp_path, "--since", time, key=key).returncode == 3


def test_copies_without_leaves_prove_whole_seals(db: Connection, tmp_path: Path, key: Path) -> None:
    db.execute("insert into customer (id) select n from generate_series(1, 5) n")
    audit.seal(db, key=KEY)
    write(db, tmp_path)
    (tmp_path / "seals.ndjson").write_bytes(b"".join(map(line_of, audit.seals(db))))
    done = run_alone(tmp_path, key=key)
    assert (done.returncode, done.stdout.split(";")[0]) == (0, "5 entries as sealed by 1 seals")
    lines = (tmp_path / "export.ndjson").read_bytes()
    (tmp_path / "export.ndjson").write_bytes(lines.replace(b'"INSERT"', b'"DELETE"', 1))
    done = run_alone(tmp_path, key=key)
    assert (done.returncode, done.stdout.split(";")[0]) == (3, "the entries of seal 1 are not as they were sealed")


def test_keys_of_all_kinds_are_digested_as_the_database_does(db: Connection, tmp_path: Path, key: Path) -> None:
    keys = ("5", "-5", "[7, 1]", '["7", null]', "[1 2]", "[12,3]", "[]", "0190a5c8-1111-7abc-8def-0123456789ab", "bob")
    for each in (
        *keys,
        '[7, "bob"]',
        '["0190a5c8-1111-7abc-8def-0123456789ab", -7]',
        "5 ",
        "5\n",
        '"\\\x7f\t',
        "[--1]",
    ):
        audit.capture_log(db, "files", "UPDATE", record_id=each, after={"text": each, "n": 1e300, "d": {"e": [each]}})
    audit.seal(db, key=KEY)
    write(db, tmp_path)
    done = run_alone(tmp_path, key=key)
    assert (done.returncode, done.stdout.split(" ")[0]) == (0, "15"), done.stdout


def test_evidence_needs_a_seal_and_no_transaction(db: Connection) -> None:
    with pytest.raises(ConflictError, match="the log has no seals"):
        audit.evidence(db, export=io.BytesIO(), seals=io.BytesIO())
    with db.transaction(), pytest.raises(TransactionError):
        audit.evidence(db, export=io.BytesIO(), seals=io.BytesIO())


def test_a_purge_that_no_seal_has_yet_explains_nothing_for_sure(db: Connection, tmp_path: Path, key: Path) -> None:
    """Whoever hands the files over could have written its entry into them."""
    db.execute("insert into customer (id) values ('bob')")
    audit.seal(db, key=KEY)
    audit.erase(db, "customer", "bob")
    write(db, tmp_path)
    done = run_alone(tmp_path, key=key)
    assert done.returncode == 3
    assert "1 of the newer ones tell of a purge or an erasure: seal, and write anew." in done.stdout
    audit.seal(db, key=KEY)
    write(db, tmp_path)
    assert run_alone(tmp_path, key=key).returncode == 0


def test_a_purge_or_an_erasure_after_the_period_is_not_called_claimed(
    db: Connection, tmp_path: Path, key: Path
) -> None:
    db.execute("insert into customer (id) values ('ann'), ('bob')")
    audit.seal(db, key=KEY)
    end = scalar(db, "select clock_timestamp()")
    audit.erase(db, "customer", "bob")
    write(db, tmp_path, until=end)
    done = run_alone(tmp_path, "--until", end.isoformat(), key=key)
    assert done.returncode == 3
    assert "is said to tell of" not in done.stdout
    words = "1 purges or erasures outside of that time are newer than the last seal: seal, and write anew."
    assert words in done.stdout
    assert "entry 3 is said to tell of a purge or an erasure" in run_alone(tmp_path, key=key).stdout
    audit.seal(db, key=KEY)
    write(db, tmp_path, until=end)
    assert run_alone(tmp_path, "--until", end.isoformat(), key=key).returncode == 0


def test_async_calls_write_the_same(db: Connection, database: str, tmp_path: Path) -> None:
    sealed_log(db)
    write(db, tmp_path)
    export, seals = io.BytesIO(), io.BytesIO()

    async def run() -> audit.EvidenceReport:
        async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
            return await audit.aevidence(conn, export=export, seals=seals)

    report = asyncio.run(run())
    assert (tmp_path / "export.ndjson").read_bytes() == export.getvalue()
    assert (tmp_path / "seals.ndjson").read_bytes() == seals.getvalue()
    assert (report.entries, report.seals) == (len(export.getvalue().splitlines()), 3)
    assert [*json.loads(export.getvalue().splitlines()[0])] == [*alone.MEMBERS]


def test_a_reader_can_write_evidence(db: Connection, tmp_path: Path, key: Path) -> None:
    sealed_log(db)
    db.execute("set role svc_reader")
    write(db, tmp_path)
    assert run_alone(tmp_path, key=key).returncode == 0
