import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from cli import seals
from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.database.query import scalar
from svc_pg.errors import SvcError
from svc_pg.maintenance import bounded_calls
from tests.support import debian
from tests.support.commands import program, svc_pg
from tests.support.documents import examples
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.timestamp_authority import Answer, TimestampAuthority, granted, root, serving

Run = Callable[..., "subprocess.CompletedProcess[str]"]

KEY = SealKey("s1", b"k" * 32)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    """Three entries: a customer came, was renamed and went."""

    def prepare(conninfo: str) -> None:
        ddl = "create table customer (id int primary key, name text, price numeric(9, 2) default 249.00)"
        create_and_audit(conninfo, ddl, audited("customer"))
        with psycopg.connect(conninfo) as conn, audit.actor(conn, "alice"):
            conn.execute("insert into customer values (1, 'Zoë \U0001f600 ') ")
            conn.execute("update customer set name = '\"\\u0041'")
            conn.execute("delete from customer")

    return prepare


@pytest.fixture
def run(database: str, tmp_path: Path) -> Run:
    """Run a command on a database with those entries, with the keys."""
    keys = {"SVC_SEAL_KEY": KEY.text, "SVC_SEAL_PUBLIC_KEYS": KEY.public.text}
    return lambda *arguments, **variables: svc_pg(
        *arguments, folder=tmp_path, variables={"DATABASE_URL": database, **keys, **variables}
    )


def test_new_keys_are_lines_for_the_environment(run: Run) -> None:
    done = run("keys", "new", "seal", "--id", "s7")
    private, public = (line.partition("=")[2] for line in done.stdout.splitlines())
    assert done.stdout.startswith("SVC_SEAL_KEY=s7:")
    assert SealKey.parse(private).public.text == public
    assert run("keys", "new", "seal", "--id", "s 7").returncode == 2


def test_a_sealed_log_is_verified_and_a_forged_one_is_named(run: Run, database: str) -> None:
    done = run("verify")
    assert (done.returncode, done.stderr) == (
        1,
        "error: the log has no seals, so nothing can be verified\n"
        "hint: Make one: svc-pg seal. If there were seals, somebody removed them.\n",
    )
    assert "No verification" not in run("status").stderr
    assert run("seal").stderr == "Sealed 3 entries; the last seal is 1.\n"
    assert "No verification of it is recorded: svc-pg verify.\n" in run("status").stderr
    assert json.loads(run("seal", "--json").stdout) == {"seals": 0, "entries": 0, "copied": 0, "stamped": None}
    done = run("verify")
    assert (done.returncode, done.stderr) == (0, "3 entries as sealed by 1 seal; 0 without a seal.\n")
    told = run("status").stderr
    assert "Seals 1 to 1 were verified at " in told
    assert ": all was as it was sealed.\n" in told
    with psycopg.connect(database) as conn:
        conn.execute("alter table svc.audit_logs disable trigger all; delete from svc.audit_logs where id = 2")
    done = run("verify", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["isIntact"]) == (3, False)
    assert [(finding["kind"], finding["entry"]) for finding in found["findings"]] == [("deleted", "2")]
    assert found["isRecorded"] is True
    done = run("verify", "--seals", "/dev/null", PGOPTIONS="-c default_transaction_read_only=on")
    assert done.stdout.startswith("entry 2 was deleted: ")
    assert "This is not recorded" in done.stderr
    told = json.loads(run("status", "--json").stdout)["verification"]
    assert (told["firstSeal"], told["lastSeal"], told["findings"], told["keys"]) == (1, 1, 1, ["s1"])
    assert ": 1 finding.\n" in run("status").stderr


@pytest.mark.parametrize(
    ("command", "variables", "message"),
    [
        (["seal"], {"SVC_SEAL_KEY": ""}, "SVC_SEAL_KEY is not set"),
        (["seal"], {"SVC_SEAL_KEY": "s1:AAAA"}, "SVC_SEAL_KEY"),
        (["seal"], {"SVC_SEAL_KEY": f"{KEY.text},s2:{KEY.text[3:]}"}, "there are several keys, and one signs"),
        (["verify"], {"SVC_SEAL_KEY": "", "SVC_SEAL_PUBLIC_KEYS": ""}, "SVC_SEAL_PUBLIC_KEYS is not set"),
        (["check", "-"], {"SVC_SEAL_KEY": "", "SVC_SEAL_PUBLIC_KEYS": "x"}, "SVC_SEAL_PUBLIC_KEYS"),
        (["check", "nothing"], {}, "nothing cannot be read: No such file or directory"),
        (["check", "-"], {}, "the proof is damaged"),
        (["prove", "2"], {}, "entry 2 has no seal yet"),
        (["prove", "99"], {}, "there is no entry 99"),
        (["prove", "two"], {}, "'two' is not the id of an entry"),
        (["verify", "--seals", "nothing"], {}, "nothing cannot be read or written: No such file or directory"),
        (["seal", "--to", "missing/file"], {}, "missing/file cannot be read or written: No such file or directory"),
    ],
)
def test_bad_input_is_named(run: Run, command: list[str], variables: dict[str, str], message: str) -> None:
    done = run(*command, **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert KEY.text[3:] not in done.stderr


def test_copies_are_appended_and_compared(run: Run, database: str, tmp_path: Path) -> None:
    file = tmp_path / "seals"
    assert run("seal", "--to", "seals").stderr == "Sealed 3 entries; the last seal is 1.\nCopied 1 seal to seals.\n"
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (2, 'b')")
    printed = run("seal", "--to", "-")
    assert len(printed.stdout.splitlines()) == 1
    done = run("seal", "--to", "seals")
    assert done.stderr == "No entries without a seal.\nCopied 1 seal to seals.\n"
    assert file.read_text().splitlines()[1] == printed.stdout.strip()
    assert run("verify", "--seals", "seals").returncode == 0
    file.write_bytes(file.read_bytes()[:-1])
    for command in (["verify", "--seals", "seals"], ["seal", "--to", "seals"]):
        done = run(*command)
        assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: seals is cut: its line 2 does not end")


def test_a_log_that_lacks_the_copied_seals_is_not_signed(run: Run, database: str) -> None:
    run("seal", "--to", "seals")
    with psycopg.connect(database) as conn:
        conn.execute("set session_replication_role = replica")
        for table in ("audit_seal_leaves", "audit_seals"):
            conn.execute(f"alter table svc.{table} disable trigger all")
            conn.execute(f"delete from svc.{table}")
    done = run("seal", "--to", "seals")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: seal 1 of the copies is not in this log")
    with psycopg.connect(database) as conn:
        assert audit.seals(conn) == []


def test_a_full_disk_leaves_the_file_as_it_was(run: Run, database: str, tmp_path: Path) -> None:
    file = tmp_path / "seals"
    run("seal", "--to", "seals")
    before = file.read_bytes()
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (2, 'b')")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        variables = {"DATABASE_URL": database, "SVC_SEAL_KEY": KEY.text}
        done = program("seal", "--to", "seals", folder=tmp_path, variables=variables)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (done.returncode, file.read_bytes()) == (1, before)
    assert done.stderr.splitlines()[-1] == "error: seals cannot be read or written: File too large"
    assert run("seal", "--to", "seals").stderr == "No entries without a seal.\nCopied 1 seal to seals.\n"


def test_a_proof_is_checked_without_a_database_and_by_the_program_of_the_documentation(
    run: Run, database: str, tmp_path: Path
) -> None:
    run("seal")
    proof = tmp_path / "proof.json"
    [script] = examples("proof.md", "Check a proof with another program", "js")
    (tmp_path / "check.js").write_text(script)

    def checked_elsewhere(key: str) -> tuple[int, str]:
        done = subprocess.run(
            [debian.program("node", package="nodejs"), "check.js", "proof.json", key],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    for entry in ("1", "2", "3"):
        proof.write_text(run("prove", entry).stdout)
        shown = json.loads(run("check", "proof.json", "--json", DATABASE_URL="", SVC_SEAL_KEY="").stdout)
        assert (shown["entry"], shown["seal"], shown["fields"]["actor_id"]) == (entry, 1, "alice")
        code, words = checked_elsewhere(KEY.public.text)
        assert (code, words.startswith(f"entry {entry} is in seal 1 of 2")) == (0, True)
        assert "alice" in words
    whole = proof.read_text()
    for old, new, reason in [
        ("alice", "mallory", "the entry is not in the seal"),
        ("249.00", "1.00", "the content has another digest"),
        ('"id": 3', '"id": 4', "the entry is not in the seal"),
        ('\\"entries\\":3', '\\"entries\\":4', "the signature is not of this seal"),
    ]:
        assert old in whole
        proof.write_text(whole.replace(old, new))
        assert checked_elsewhere(KEY.public.text) == (1, f"{reason}\n")
        done = run("check", "proof.json")
        assert (done.returncode, done.stdout) == (1, "")
    proof.write_text(whole)
    assert run("seal", "--to", "seals").returncode == 0
    assert json.loads(run("check", "proof.json", "--seals", "seals", "--json").stdout)["log"] in whole
    elsewhere = (
        (tmp_path / "seals").read_text().replace(json.loads(run("check", "proof.json", "--json").stdout)["log"], "x")
    )
    (tmp_path / "others").write_text(elsewhere)
    done = run("check", "proof.json", "--seals", "others")
    assert (done.returncode, "another database" in done.stderr, "of log x" in done.stderr) == (1, True, True)
    with psycopg.connect(database) as conn:
        conn.autocommit = True
        audit.erase(conn, "customer", 1)
        erased = scalar(conn, "select min(id) from svc.audit_logs where erased_leaf is not null")
    proof.write_text(run("prove", str(erased)).stdout)
    code, words = checked_elsewhere(KEY.public.text)
    assert (code, "alice" in words, words.endswith(" erased\n")) == (0, True, True)
    words = run("check", "proof.json").stdout
    assert ("alice" in words, "erased" in words, "249.00" in words) == (True, True, False)
    assert json.loads(run("check", "proof.json", "--json").stdout)["isErased"]
    proof.write_text(whole)
    assert checked_elsewhere(SealKey("s1", b"o" * 32).public.text) == (1, "the signature is not of this seal\n")
    assert run("check", "proof.json", SVC_SEAL_KEY="", SVC_SEAL_PUBLIC_KEYS="s2" + KEY.public.text[2:]).returncode == 1
    for options in ([], ["--json"]):
        assert '"price": 249.00' in run("check", "proof.json", *options).stdout  # as it was sealed


def test_status_tells_how_far_the_seals_are_behind(run: Run, database: str, tmp_path: Path) -> None:
    (tmp_path / "svc-pg.toml").write_text("[[audit.tables]]\nname = 'customer'\n")
    assert "seal" not in run("status").stderr
    run("seal")
    [line] = [line for line in run("status").stderr.splitlines() if "seal" in line]
    assert line.startswith("The last seal of the audit log is 1, of 20")
    assert json.loads(run("status", "--json").stdout)["seals"]["lag"] == 0
    with psycopg.connect(database) as conn:
        conn.execute("insert into customer values (2, 'b')")
    assert "; the oldest entry without one is " in run("status").stderr


def test_evidence_is_a_folder_with_a_program_that_verifies_it(run: Run, tmp_path: Path) -> None:
    done = run("evidence", "november")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1,
        "error: the log has no seals, so nothing can be verified",
    )
    assert not (tmp_path / "november" / "export.ndjson").exists()
    run("seal")
    done = run("evidence", "november")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Wrote 3 entries and 1 seal to november. With the public key in a file: ")
    [_, command] = done.stderr.strip().split(": ", maxsplit=1)
    folder = tmp_path / "november"
    (folder / "KEY").write_text(KEY.public.text)
    verified = subprocess.run(
        [sys.executable, "-I", "-S", *command.split()[1:]], cwd=folder, capture_output=True, text=True
    )
    assert (verified.returncode, verified.stdout.split(";")[0]) == (0, "3 entries as sealed by 1 seals")
    done = run("evidence", "none", "--between", "2099-01-01 to 2099-02-01")
    assert done.stderr.startswith("Wrote 0 entries and 1 seal to none.")
    command, ends = done.stderr.splitlines()
    assert command.endswith(" KEY --since 2099-01-01T00:00:00Z --until 2099-02-01T00:00:00Z")
    assert re.fullmatch(
        r"The last seal, of 2.*Z, does not reach to the end of the period, so .* exit with 3\. .*", ends
    )
    assert len(run("evidence", "past", "--between", "2020-01-01 to 2020-02-01").stderr.splitlines()) == 1
    assert "write a time, because the auditor" in run("evidence", "none", "--since", "7d").stderr


def test_seals_get_timestamps_that_go_with_copies_and_evidence_and_are_verified(
    run: Run, database: str, tmp_path: Path
) -> None:
    tsa = TimestampAuthority.new(tmp_path / "tsa", root())
    copies, ca = tmp_path / "seals", {"SVC_SEAL_TIMESTAMP_CA": str(tsa.ca_file)}
    copies.mkdir()
    copied_before: list[list[str]] = []

    def answer(query: bytes) -> Answer:
        copied_before.append([each.name for each in copies.iterdir()])
        return granted(tsa)(query)

    with serving(answer) as server:
        variables = {**ca, "SVC_SEAL_TIMESTAMP_URL": server.url}
        done = run("seal", "--to", str(copies), **variables)
        assert (done.returncode, done.stderr) == (
            0,
            "Sealed 3 entries; the last seal is 1.\n"
            f"Copied 1 seal to {copies}.\n"
            f"Seal 1 got a timestamp of {server.url[7:].partition('/')[0]}.\n",
        )
        assert copied_before == [["0000000000000000001.json"]]  # an authority holds up no copy
        again = json.loads(run("seal", "--json", **variables).stdout)
        assert (again["seals"], again["stamped"]) == (0, None)
        assert len(server.queries) == 1
    assert "(timestamps) has stamped the seals up to 1." in run("status").stderr
    done = run("verify", "--seals", str(copies), **ca)
    assert done.returncode == 0
    assert "1 timestamp; by the last one, the seals up to 1 were there at 20" in done.stderr
    found = json.loads(run("verify", "--json", **ca).stdout)
    assert (found["timestamps"], found["stampedSeal"], found["isIntact"]) == (1, 1, True)
    assert (found["firstStampedSeal"], found["firstDelay"]["seal"], found["laterDelay"]) == (1, 1, None)
    assert "1 timestamp was not verified" in run("verify").stderr
    assert ", without 1 timestamp: all was as it was sealed." in run("status").stderr
    found = json.loads(run("verify", "--json").stdout)
    assert (found["timestamps"], found["unverifiedTimestamps"]) == (None, 1)

    earlier = tmp_path / "evidence" / "timestamps"
    earlier.mkdir(parents=True)
    for name in ("0000000000000000009.tsr", "mine.tsr"):
        earlier.joinpath(name).write_bytes(b"of an earlier run")
    assert "1 timestamp of seals" in run("evidence", "evidence").stderr
    name = "0000000000000000001.tsr"
    assert sorted(each.name for each in earlier.iterdir()) == [name, "mine.tsr"]
    taken = [(tmp_path / folder / name).read_bytes() for folder in ("seals", "evidence/timestamps")]
    assert taken[0] == taken[1]
    verified = verified_as_documented(tmp_path)
    assert (verified.returncode, verified.stdout) == (0, "Verification: OK\n")

    with psycopg.connect(database) as conn:
        conn.execute("alter table svc.audit_seal_timestamps disable trigger all")
        conn.execute("delete from svc.audit_seal_timestamps")
    done = run("verify", "--seals", str(copies), **ca)
    assert (done.returncode, done.stdout) == (3, "the timestamp of seal 1 is missing: the copies have it\n")


def verified_as_documented(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the lines of docs/proof.md that verify a timestamp with openssl."""
    [block] = [each for each in examples("proof.md", "Timestamps", "sh") if "openssl ts -verify" in each]
    lines = block.replace("/mnt/elsewhere/", "").replace("/etc/svc-pg/ca.pem", "../tsa/ca.pem").replace("0012", "0001")
    lines = lines.replace("/tmp/", "../")
    return subprocess.run(["sh", "-e", "-c", lines], cwd=folder, capture_output=True, text=True, check=False)


def test_certificates_that_are_missing_fail_the_command_after_all_was_sealed(run: Run, tmp_path: Path) -> None:
    url = {"SVC_SEAL_TIMESTAMP_URL": "http://tsa.example/?key=secret"}
    for variables, words in (
        (url, "SVC_SEAL_TIMESTAMP_CA is not set"),
        (url | {"SVC_SEAL_TIMESTAMP_CA": "gone.pem"}, "gone.pem cannot be read: No such file"),
    ):
        done = run("seal", "--to", "copies", **variables)
        assert done.returncode == 1
        assert f"error: no timestamp of tsa.example: {words}" in done.stderr.replace(
            "SVC_SEAL_TIMESTAMP_CA: gone", "gone"
        )
        assert "secret" not in done.stderr
    assert tmp_path.joinpath("copies").read_text().count("\n") == 1


def test_an_authority_that_fails_fails_the_command_after_all_was_sealed(run: Run, tmp_path: Path) -> None:
    tsa = TimestampAuthority.new(tmp_path / "tsa", root())
    with serving(lambda _: (503, {}, b"")) as server:
        variables = {"SVC_SEAL_TIMESTAMP_URL": server.url, "SVC_SEAL_TIMESTAMP_CA": str(tsa.ca_file)}
        done = run("seal", "--to", "copies", **variables)
    name = server.url[7:].partition("/")[0]
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"error: no timestamp of {name}: it answered 503"
    assert tmp_path.joinpath("copies").read_text().count("\n") == 1
    assert f"{name} (timestamps) has stamped no seal; 1 newer one to come: it answered 503." in run("status").stderr


def test_copies_that_hang_end_a_verification(
    run: Run, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("seal")
    pipe = tmp_path / "seals"
    os.mkfifo(pipe)  # as a disk whose open never returns: nobody writes to it
    monkeypatch.setattr(bounded_calls, "_LONGEST", timedelta(milliseconds=300))
    monkeypatch.setenv("SVC_SEAL_PUBLIC_KEYS", KEY.public.text)
    with pytest.raises(SvcError, match=r"seals does not answer within 0\.3 s"):
        seals.verify(seals=pipe, database_url=database)
    os.close(os.open(pipe, os.O_WRONLY))  # ends the thread that waits for it
