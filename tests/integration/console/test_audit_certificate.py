"""Certificates of entries, records and erasures over HTTP and on pages: what proves them, and never what was taken."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config, audit
from svc_pg.audit import SealKey
from svc_pg.console import Console
from tests.integration.console.browsing import HOSTILE, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit

KEY = SealKey("s1", b"k" * 32)
CONFIG = Config()
CONFIG.audit.table("public.t", redact=["secret"])
VERIFIED = ("Proven", "As it was sealed", "verified")
"""Words that no page may have before a browser has verified something."""


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table t (id text primary key, a text, secret text)", CONFIG)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    known = settings(database_url=installed, seal_public_keys=KEY.public.text)
    with serving_installed(Console(known, config=CONFIG)) as client:
        client.headers.update(bearer("write"))
        yield client


def entries_of(client: httpx.Client, record: str) -> list[Any]:
    found: list[Any] = client.get("/audit/entries", params={"resource": "t", "record": record}).json()["data"]
    return found


def change(conninfo: str, statement: str, *, key: SealKey | None = KEY) -> None:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(statement.encode())
        if key is not None:
            audit.seal(conn, key=key)


def forge(conninfo: str, statement: str) -> None:
    """Change entries as a superuser who switches the guards off."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("set session_replication_role = replica")
        leaves = conn.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'svc.audit_logs'::regclass"
        )
        for (leaf,) in leaves.fetchall():
            conn.execute(f"alter table {leaf} disable trigger all".encode())
        conn.execute(statement.encode())


def test_an_entry_has_a_certificate_that_proves_it_once_it_is_sealed(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('1', 'x', 'hush')", key=None)
    [entry] = entries_of(client, "1")
    path = f"/audit/entries/{entry['id']}"
    waiting = client.get(f"{path}/certificate").json()
    assert (waiting["digest"], waiting["entries"][0]["state"]) == (None, "not_sealed")
    writer = signed_in(client, "write")
    page = writer.get(f"{path}/proof").text
    assert_strict(page)
    assert "not sealed yet" in page
    change(installed, "insert into t values ('2', 'y', null)")
    found = client.get(f"{path}/certificate").json()
    [certified] = found["entries"]
    assert (certified["state"], certified["sealedLeaf"]) == ("sealed", None)
    proven = audit.check_proof(json.dumps(certified["proof"]), public_keys=KEY.public)
    assert proven.id == entry["id"]
    assert "hush" not in json.dumps(found)
    proof = audit.Proof.parse(json.dumps(certified["proof"]))
    assert found["digest"] == sha256(b"\0" + bytes(proof.leaf)).hexdigest()
    page = writer.get(f"{path}/proof").text
    assert_strict(page)
    assert len(page.encode()) < 250 * 1024
    assert [word for word in VERIFIED if word in page] == []
    assert "Not checked in this browser" in page
    for digest in (found["digest"], proof.seal.root.hex()):
        assert f'data-node="{digest}"' in page
    assert found["digest"] in page.replace(" ", "")
    assert "hush" not in page
    file = writer.get(f"{path}/certificate.json")
    assert file.headers["content-disposition"] == f'attachment; filename="entry-{entry["id"]}-certificate.json"'
    assert file.json() == found
    entry_page = writer.get(path).text
    assert f"{path}/proof" in entry_page


def test_the_public_keys_have_fingerprints(client: httpx.Client, installed: str) -> None:
    [key] = client.get("/audit/seals/keys").json()["keys"]
    assert f"{key['keyId']}:{key['publicKey']}" == KEY.public.text
    assert key["fingerprint"] == sha256(KEY.public.keys["s1"]).hexdigest()
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as other:
        assert other.get("/audit/seals/keys", headers=bearer("read")).json() == {"keys": []}
        change(installed, "insert into t values ('nokey', 'x')")
        [entry] = entries_of(client, "nokey")
        page = signed_in(other, "read").get(f"/audit/entries/{entry['id']}/proof").text
        assert "This console has no public key of this id" in page
    private = settings(database_url=installed, seal_key=SecretStr(KEY.text))
    with serving_installed(Console(private, config=CONFIG)) as other:
        known = other.get("/audit/seals/keys", headers=bearer("read"))
        assert known.json() == {"keys": [key]}
        assert KEY.text.partition(":")[2] not in known.text


def test_an_entry_that_was_changed_after_its_seal_is_named(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('c1', 'x'), ('c2', 'x'), ('c3', 'x')")
    ids = {record: entries_of(client, record)[0]["id"] for record in ("c1", "c2", "c3")}
    forge(installed, f"update svc.audit_logs set actor_id = 'mallory' where id = {ids['c1']}")
    forge(installed, f"delete from svc.audit_logs where id = {ids['c2']}")
    forge(installed, f"update svc.audit_logs set timestamp = timestamp - interval '1 ms' where id = {ids['c3']}")
    writer = signed_in(client, "write")
    for record, entry_id, state, words in (
        ("c1", ids["c1"], "changed", "This entry is not as it was sealed"),
        ("c3", ids["c3"], "changed", "Its time was"),
    ):
        certificate = client.get(f"/audit/entries/{entry_id}/certificate").json()
        [certified] = certificate["entries"]
        assert (record, certificate["digest"], certified["state"]) == (record, None, state)
        assert len(certified["sealedLeaf"]) == 96
        page = writer.get(f"/audit/entries/{entry_id}/proof").text
        assert words in page
        assert [word for word in VERIFIED if word in page] == []
        assert_problem(client.get(f"/audit/entries/{entry_id}/proof"), 409, "not_sealed")
    assert_problem(client.get(f"/audit/entries/{ids['c2']}/certificate"), 404, "unknown_entry")
    assert client.get("/audit/records/t/c1/certificate").json()["digest"] is None


def test_a_record_has_a_certificate_of_its_newest_entries(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('r', '0')")
    for number in range(24):
        change(installed, f"update t set a = '{number}' where id = 'r'", key=None)
    change(installed, "update t set a = 'last' where id = 'r'")
    change(installed, "update t set a = 'unsealed' where id = 'r'", key=None)
    found = client.get("/audit/records/t/r/certificate").json()
    states = [entry["state"] for entry in found["entries"]]
    assert states == ["not_sealed", *["sealed"] * 19]
    assert (found["isComplete"], found["subject"], found["table"], found["record"]) == (False, "record", "t", "r")
    page = signed_in(client, "read").get("/audit/records/t/r/certificate").text
    assert_strict(page)
    assert "There are more entries than these 20" in page
    assert len(page.encode()) < 250 * 1024
    assert [word for word in VERIFIED if word in page] == []
    file = signed_in(client, "read").get("/audit/records/t/r/certificate.json")
    assert file.json() == found
    assert_problem(client.get("/audit/records/t/nobody/certificate"), 404, "unknown_record")
    assert_problem(client.get("/audit/records/a.b.c/1/certificate"), 404, "unknown_table")
    assert "records/public.t/r/certificate" in signed_in(client, "read").get("/audit/records/public.t/r").text


def test_an_erasure_has_a_certificate_that_shows_nothing_of_what_was_taken(
    client: httpx.Client, installed: str
) -> None:
    person, secret = "zoe@home.example", "Ann Example of Nowhere"
    with psycopg.connect(installed) as conn, audit.actor(conn, "dpo@corp.example"):
        conn.execute("insert into t values (%s, %s)", (person, secret))
        conn.execute("update t set a = %s where id = %s", (secret + "!", person))
    with psycopg.connect(installed, autocommit=True) as conn:
        audit.seal(conn, key=KEY)
    before = [entry["id"] for entry in entries_of(client, person)]
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("select set_config('svc.actor_id', 'dpo@corp.example', false)")
        audit.erase(conn, "t", person)
        audit.seal(conn, key=KEY)
    query = {"resource": "svc.audit_logs", "label": "audit log erased"}
    [teller, *_] = client.get("/audit/entries", params=query).json()["data"]
    found = client.get(f"/audit/entries/{teller['id']}/erasure")
    assert [entry["id"] for entry in found.json()["entries"]] == [teller["id"], *sorted(before, key=int)]
    assert {entry["state"] for entry in found.json()["entries"]} == {"sealed"}
    for entry in found.json()["entries"][1:]:
        proven = audit.check_proof(json.dumps(entry["proof"]), public_keys=KEY.public)
        assert (proven.is_erased, proven.fields["actor_id"]) == (True, "dpo@corp.example")
    writer = signed_in(client, "write")
    page = writer.get(f"/audit/entries/{teller['id']}/erasure")
    one = writer.get(f"/audit/entries/{before[0]}/proof")
    for answer in (found, page, one, writer.get(f"/audit/entries/{teller['id']}/erasure.json")):
        assert answer.status_code == 200
        assert secret not in answer.text
        assert person not in answer.text
    assert_strict(page.text)
    assert "dpo@corp.example" in page.text
    assert ": <bdi>a</bdi>" in page.text
    assert f"entries/{teller['id']}/erasure" in one.text
    assert f"entries/{teller['id']}/erasure" in writer.get(f"/audit/entries/{teller['id']}").text
    assert_problem(client.get(f"/audit/entries/{before[0]}/erasure"), 404, "no_erasure")


def test_who_may_only_read_gets_no_proof_of_what_is_hidden_from_him(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('7', 'https://x.example/?token=hush')", key=None)
    [entry] = entries_of(client, "7")
    forge(installed, f"update svc.audit_logs set table_name = 'svc.webhook_endpoints' where id = {entry['id']}")
    with psycopg.connect(installed, autocommit=True) as conn:
        audit.seal(conn, key=KEY)
    [entry] = client.get("/audit/entries?resource=svc.webhook_endpoints&record=7").json()["data"]
    path = f"/audit/entries/{entry['id']}"
    assert client.get(f"{path}/certificate").json()["entries"][0]["state"] == "sealed"
    hidden = client.get(f"{path}/certificate", headers=bearer("read"))
    assert "hush" not in hidden.text
    assert hidden.json()["digest"] is None
    [certified] = hidden.json()["entries"]
    assert (certified["state"], certified["proof"], certified["sealedLeaf"]) == ("withheld", None, None)
    assert "needs the permission write" in signed_in(client, "read").get(f"{path}/proof").text


def test_hostile_texts_stay_texts(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn, audit.actor(conn, HOSTILE[0]):
        conn.execute("insert into t values (%s, %s)", (HOSTILE[1], HOSTILE[0]))
        conn.commit()
        audit.seal(conn, key=KEY)
    [entry] = entries_of(client, HOSTILE[1])
    reader = signed_in(client, "read")
    assert_strict(reader.get(f"/audit/entries/{entry['id']}/proof").text)
    record = quote(HOSTILE[1], safe="")
    assert_strict(reader.get(f"/audit/records/public.t/{record}/certificate").text)


def test_unknown_entries_have_no_certificate(client: httpx.Client) -> None:
    for unknown in ("0", "x", "9" * 30):
        for route in ("certificate", "erasure"):
            problem = client.get(f"/audit/entries/{unknown}/{route}")
            assert problem.status_code == 404
