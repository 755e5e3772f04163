"""Certificates of entries, records and erasures over HTTP and on pages: what proves them, and never what was taken."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
import segno
from pydantic import SecretStr

from svc_pg import Config, audit
from svc_pg.audit import SealKey
from svc_pg.console import Console
from svc_pg.database import performing
from svc_pg.seals.database.entry_evidence import evidence_of
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


def modules_of(page: str) -> set[tuple[int, int]]:
    """The dark modules of the QR code of a page, without its border of four."""
    [drawn] = re.findall(r'aria-label="QR code of the digest">.*?<path class="qr-fg" d="([^"]*)"', page, re.DOTALL)
    runs = re.findall(r"M([0-9]+) ([0-9]+)h([0-9]+)v1h-[0-9]+z", drawn)
    return {(int(x) + each - 4, int(y) - 4) for x, y, width in runs for each in range(int(width))}


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
    assert modules_of(page) == {
        (x, y)
        for y, row in enumerate(segno.make(found["digest"], error="m", micro=False, boost_error=False).matrix)
        for x, is_dark in enumerate(row)
        if is_dark
    }
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
        page = signed_in(other, "write").get(f"/audit/entries/{entry['id']}/proof").text
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
    assert (found["isComplete"], found["subject"], found["table"], found["record"]) == (
        False,
        "record",
        "public.t",
        "r",
    )
    page = signed_in(client, "write").get("/audit/records/t/r/certificate").text
    assert_strict(page)
    assert "There are more entries than these 20" in page
    assert len(page.encode()) < 250 * 1024
    assert [word for word in VERIFIED if word in page] == []
    file = signed_in(client, "write").get("/audit/records/t/r/certificate.json")
    assert file.json() == found
    assert_problem(client.get("/audit/records/t/nobody/certificate"), 404, "unknown_record")
    assert_problem(client.get("/audit/records/a.b.c/1/certificate"), 404, "unknown_table")
    assert "records/public.t/r/certificate" in signed_in(client, "write").get("/audit/records/public.t/r").text


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


def test_who_may_only_read_gets_no_certificate(client: httpx.Client, installed: str) -> None:
    """A path has the digest of a neighbour, which confirms a guess of what is hidden from a reader."""
    change(installed, "insert into t values ('hidden', 'x')")
    [entry] = entries_of(client, "hidden")
    reader = signed_in(client, "read")
    path = f"/audit/entries/{entry['id']}"
    for route in (f"{path}/certificate", f"{path}/erasure", "/audit/records/t/hidden/certificate"):
        assert_problem(client.get(route, headers=bearer("read")), 403, "insufficient_scope")
    pages = (f"{path}/proof", f"{path}/erasure", "/audit/records/public.t/hidden/certificate")
    for page in (*pages, f"{path}/certificate.json", "/audit/records/public.t/hidden/certificate.json"):
        assert reader.get(page).status_code == 403
    for page in (path, "/audit/records/public.t/hidden"):
        assert "/proof" not in reader.get(page).text
        assert "/certificate" not in reader.get(page).text
    assert "/certificate" in signed_in(client, "write").get("/audit/records/public.t/hidden").text


def test_of_a_forged_erasure_nothing_is_shown_but_what_is_proven(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('alice@x.example', 'paid 10'), ('4711', 'x')")
    ids = [entries_of(client, record)[0]["id"] for record in ("alice@x.example", "4711")]
    forge(
        installed,
        f"""update svc.audit_logs
               set erased_leaf = sha256(convert_to(svc.audit_content(audit_logs), 'UTF8')),
                   after_data = '{{"id": "x", "a": "FORGED"}}', description = 'FORGED', context = '{{"by": "FORGED"}}',
                   record_id = case record_id when '4711' then '4711' else 'FORGED@x.example' end
             where id in ({ids[0]}, {ids[1]})""",
    )
    [certified] = client.get(f"/audit/entries/{ids[0]}/certificate").json()["entries"]
    assert (certified["state"], certified["proof"]["entry"]["content"]) == ("sealed", None)
    writer = signed_in(client, "write")
    page = writer.get(f"/audit/entries/{ids[0]}/proof").text
    assert "FORGED" not in page
    assert "nothing but these fields is proven" in page
    record = client.get("/audit/records/t/FORGED%40x.example/certificate").json()
    assert ([entry["state"] for entry in record["entries"]], record["digest"]) == (["erased_unproven"], None)
    page = writer.get("/audit/records/public.t/FORGED%40x.example/certificate").text
    row = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert "FORGED" not in row
    assert "Its record is not proven" in row
    number = client.get("/audit/records/t/4711/certificate").json()  # the first part has keys that are numbers
    assert [entry["state"] for entry in number["entries"]] == ["sealed"]
    assert "FORGED" not in writer.get("/audit/records/public.t/4711/certificate").text


def test_two_rows_with_one_id_are_not_proven(client: httpx.Client, installed: str) -> None:
    change(installed, "insert into t values ('twin', 'x')")
    [entry] = entries_of(client, "twin")
    with psycopg.connect(installed) as conn:
        [(names,)] = conn.execute(
            "select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute"
            " where attrelid = 'svc.audit_logs'::regclass and attnum > 0 and not attisdropped"
        ).fetchall()
    others = names.replace("record_id", "'victim'").replace('"timestamp"', "\"timestamp\" + interval '1 s'")
    forge(
        installed,
        f"insert into svc.audit_logs ({names}) overriding system value select {others} from svc.audit_logs"
        f" where id = {entry['id']}",
    )
    for record in ("twin", "victim"):
        found = client.get(f"/audit/records/t/{record}/certificate").json()
        assert [(each["state"], each["proof"]) for each in found["entries"]] == [("missing", None)]
        assert found["digest"] is None
    page = signed_in(client, "write").get(f"/audit/entries/{entry['id']}/proof")
    assert page.status_code == 200
    assert "Two rows of the log have this id" in page.text
    assert_problem(client.get(f"/audit/entries/{entry['id']}/proof"), 409, "not_sealed")


def test_the_work_for_a_certificate_has_bounds(client: httpx.Client, installed: str) -> None:
    for number in range(7):
        change(installed, f"insert into t values ('bound', '{number}') on conflict (id) do update set a = excluded.a")
    found = client.get("/audit/records/t/bound/certificate").json()
    assert ([entry["state"] for entry in found["entries"]], found["isComplete"]) == (["sealed"] * 5, False)
    with psycopg.connect(installed) as conn:
        conn.execute("alter table svc.audit_seal_leaves disable trigger all")
        conn.execute(
            "update svc.audit_seal_leaves set leaves = leaves || leaves"
            " where seal = (select max(number) from svc.audit_seals)"
        )
    newest, *_ = client.get("/audit/records/t/bound/certificate").json()["entries"]
    assert (newest["state"], newest["place"], newest["proof"]["path"]) == ("leaves_changed", None, [])


def test_evidence_has_as_many_characters_as_were_asked_for_and_the_first_entry_always(installed: str) -> None:
    change(installed, "insert into t values ('long', 'x'), ('longer', 'y')")
    with psycopg.connect(installed, autocommit=True) as conn:
        ids = [int(each.id) for each in audit.query().resource("public.t").limit(2).list(conn)]
        size = sum(each.size for each in performing.run(conn, evidence_of(ids, most_characters=1_000_000)))
        counts = [len(performing.run(conn, evidence_of(ids, most_characters=most))) for most in (size, size - 1, 0)]
    assert counts == [2, 1, 1]


def test_hostile_texts_stay_texts(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed) as conn, audit.actor(conn, HOSTILE[0]):
        conn.execute("insert into t values (%s, %s)", (HOSTILE[1], HOSTILE[0]))
        conn.commit()
        audit.seal(conn, key=KEY)
    [entry] = entries_of(client, HOSTILE[1])
    writer = signed_in(client, "write")
    assert_strict(writer.get(f"/audit/entries/{entry['id']}/proof").text)
    record = quote(HOSTILE[1], safe="")
    assert_strict(writer.get(f"/audit/records/public.t/{record}/certificate").text)


def test_unknown_entries_have_no_certificate(client: httpx.Client) -> None:
    for unknown in ("0", "x", "9" * 30):
        for route in ("certificate", "erasure"):
            problem = client.get(f"/audit/entries/{unknown}/{route}")
            assert problem.status_code == 404
