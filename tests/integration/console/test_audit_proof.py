"""Seals, proofs and legal holds over HTTP and on pages: shown to those who may, steered from the command line alone."""

import re
from collections.abc import Iterator

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.audit import SealKey
from svc_pg.console import Console
from tests.integration.console.browsing import HOSTILE, assert_strict, signed_in
from tests.integration.console.serving import assert_problem, bearer, serving_installed, settings
from tests.support.pages import all_data
from tests.support.postgres import new_database
from tests.support.tables import add_entry, create_and_audit

KEY = SealKey("s1", b"k" * 32)
CONFIG = Config()
CONFIG.audit.table("public.t")


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, "create table t (id int primary key, a text)", CONFIG)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        client.headers.update(bearer("write"))
        yield client


def test_an_entry_has_a_seal_when_it_was_made_and_a_proof_that_needs_no_database(
    client: httpx.Client, installed: str
) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("insert into t values (1, 'x')")
        [entry] = client.get("/audit/entries?resource=t&record=1").json()["data"]
        path, writer = f"/audit/entries/{entry['id']}", signed_in(client, "write")
        assert client.get(f"{path}/seal").json() == {"seal": None, "hasSeals": False}
        assert "<dt>Seal" not in writer.get(path).text
        assert "Nobody seals this log" in writer.get("/system").text
        assert_problem(client.get(f"{path}/proof"), 409, "not_sealed")
        for number in range(2):
            audit.seal(conn, key=KEY)
            conn.execute("insert into t values (%s, 'y')", (10 + number,))
    sealing = client.get(f"{path}/seal").json()
    assert (sealing["hasSeals"], sealing["seal"]["number"], sealing["seal"]["keyId"]) == (True, 1, "s1")
    proven = audit.check_proof(client.get(f"{path}/proof").text, public_keys=KEY.public)
    assert (proven.id, (proven.fields or {})["record_id"]) == (entry["id"], "1")
    seals = all_data(client, "/audit/seals", limit=1)
    assert [seal["number"] for seal in seals] == [2, 1]
    assert seals[1] == sealing["seal"]
    assert '"kind":"svc-pg audit seal"' in seals[0]["text"]
    page = writer.get(path)
    assert "1, made" in page.text
    assert_strict(page.text)
    file = writer.get(f"{path}/proof.json")
    assert file.headers["content-disposition"] == f'attachment; filename="entry-{entry["id"]}-proof.json"'
    assert audit.check_proof(file.text, public_keys=KEY.public) == proven
    [late] = client.get("/audit/entries?resource=t&record=11").json()["data"]
    assert "not sealed yet" in writer.get(f"/audit/entries/{late['id']}").text
    system = writer.get("/system").text
    assert "seal 2" in system
    assert "svc-pg verify" in system
    status = client.get("/account/system").json()
    assert (status["proof"]["lastSeal"], status["verification"]) == (2, None)
    assert "No verification is recorded" in system
    with psycopg.connect(installed) as conn, audit.actor(conn, HOSTILE[1]):
        audit.verify(conn, public_keys=KEY.public)
        conn.commit()
    told = client.get("/account/system").json()["verification"]
    assert (told["lastSeal"], told["findings"], told["verifiedBy"]) == (2, 0, HOSTILE[1])
    system = writer.get("/system").text
    assert_strict(system)
    assert "seals 1 to 2" in system
    assert "As it was sealed" in system
    with psycopg.connect(installed) as conn:
        audit.verify(conn, public_keys=SealKey("s2", b"o" * 32).public)
        conn.commit()
    assert "1 difference<" in writer.get("/system").text
    for unknown in ("0", "x", "9" * 30):
        assert_problem(client.get(f"/audit/entries/{unknown}/seal"), 404, "unknown_entry")
        assert_problem(client.get(f"/audit/entries/{unknown}/proof"), 404, "unknown_entry")


def test_who_may_only_read_sees_the_seal_and_gets_no_proof(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("insert into t values (2, 'x')")
        audit.seal(conn, key=KEY)
    [entry] = client.get("/audit/entries?resource=t&record=2").json()["data"]
    read = bearer("read")
    assert client.get(f"/audit/entries/{entry['id']}/seal", headers=read).json()["seal"]["keyId"] == "s1"
    assert_problem(client.get(f"/audit/entries/{entry['id']}/proof", headers=read), 403, "insufficient_scope")
    reader = signed_in(client, "read")
    assert reader.get(f"/audit/entries/{entry['id']}/proof.json").status_code == 403


def test_holds_are_listed_and_said_on_the_record_and_on_the_system_page(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn, audit.actor(conn, HOSTILE[0]):
        conn.execute("insert into t values (3, 'x'), (4, 'x')")
        conn.commit()
    reader = signed_in(client, "read")
    assert "Nothing is held" in reader.get("/system").text
    with psycopg.connect(installed) as conn, audit.actor(conn, HOSTILE[0]):
        for key in (3, 4):
            audit.hold(conn, "t", key, reason=HOSTILE[1])
        audit.lift_hold(conn, "t", 4, reason="over")
        conn.commit()
    [hold] = client.get("/audit/holds").json()["data"]
    assert (hold["tableName"], hold["recordId"], hold["reason"]) == ("public.t", "3", HOSTILE[1])
    assert len(all_data(client, "/audit/holds", lifted="true", limit=1)) == 2
    assert client.get("/audit/holds?resource=t&record=3").json()["data"] == [hold]
    assert client.get("/audit/holds?resource=t&record=4").json()["data"] == []
    assert client.get("/audit/holds?resource=t&record=4&lifted=true").json()["data"] != []
    assert client.get("/audit/holds?resource=other").json()["data"] == []
    assert_problem(client.get("/audit/holds?lifted=perhaps"), 422, "invalid_parameter")
    for path in ("/system", "/audit/records/public.t/3"):
        page = reader.get(path)
        assert_strict(page.text)
        assert "onerror=alert(1)&gt;" in page.text
    assert "It is held" in page.text
    assert "It is held" not in reader.get("/audit/records/public.t/4").text
    with psycopg.connect(installed) as conn:
        audit.hold(conn, "t", reason="all of it")
        conn.commit()
    assert "The table is held" in reader.get("/audit/records/public.t/4").text


def test_a_held_record_is_called_by_its_name(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn, audit.actor(conn, "ann"):
        add_entry(conn, "public.shop", "INSERT", record_id="7", after={"id": 7, "name": f"Ridge {HOSTILE[1]}"[:80]})
        audit.hold(conn, "public.shop", "7", reason="case 12")
        conn.commit()
    page = signed_in(client, "read").get("/system").text
    assert_strict(page)
    assert re.search(r"<bdi>7</bdi></a>\s*<span class=\"q\"><bdi>Ridge ", page)
