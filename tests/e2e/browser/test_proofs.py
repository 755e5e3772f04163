"""Proofs in a browser: it verifies them itself, names what is not as it was sealed, and never says more than it did."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, Final

import psycopg
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from svc_pg import Config, audit, schema
from svc_pg.audit import SealKey
from svc_pg.console import Console
from svc_pg.seals.alone import verify_svc_pg as alone
from tests.integration.console.serving import PREFIX, bearer, serving, settings
from tests.support.evidence import VECTORS
from tests.support.page_laws import Inspection, watched
from tests.support.postgres import new_database

KEY: Final = SealKey("s1", b"k" * 32)
OTHER: Final = SealKey("s1", b"o" * 32)
CONFIG: Final = Config()
CONFIG.audit.table("public.orders")
STEPS: Final = ("contents", "leaf", "path", "signature")
_WITHOUT_ED25519: Final = """() => {
    const real = crypto.subtle.importKey.bind(crypto.subtle)
    crypto.subtle.importKey = (form, key, algorithm, ...rest) => algorithm.name === "Ed25519"
        ? Promise.reject(new DOMException("Unrecognized name.", "NotSupportedError"))
        : real(form, key, algorithm, ...rest)
}"""
_CHECK: Final = """async ([script, certified, keys]) => {
    const { check, keysOf } = await import(script)
    const found = await check(certified, keysOf(keys))
    return { state: found.state, steps: found.steps }
}"""


@dataclass(frozen=True)
class Opened:
    """A console with sealed entries: their ids by the keys of their records."""

    conninfo: str
    base_url: str
    entries: dict[str, str]

    @property
    def pages(self) -> str:
        return f"{self.base_url}{PREFIX}/ui"

    def proof(self, record: str) -> str:
        return f"{self.pages}/audit/entries/{self.entries[record]}/proof"


def forge(conninfo: str, statement: str) -> None:
    """Change the log as a superuser who switches all guards off."""
    with psycopg.connect(conninfo) as conn:
        tables = conn.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'svc.audit_logs'::regclass"
            " union all select 'svc.audit_seals'"
        ).fetchall()
        for (table,) in tables:
            conn.execute(f"alter table {table} disable trigger all".encode())
        conn.execute(statement.encode())


@pytest.fixture(scope="module")
def opened(postgres: str, template: str) -> Iterator[Opened]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            conn.execute("create table orders (id text primary key, status text, total numeric)")
            schema.install(conn, CONFIG)
            conn.execute("select set_config('svc.actor_id', 'mara@tidewater.example', false)")
            conn.execute("insert into orders select 'n' || n, 'placed', 249 from generate_series(1, 20000) n")
            names = ("whole", "changed", "redated", "erased@x.example", "multi", "forged", "far")
            for name in names:
                conn.execute("insert into orders values (%s, 'paid', 249.00)", (name,))
                conn.execute("update orders set status = 'shipped' where id = %s", (name,))
            forge(conninfo, f"update svc.audit_logs set timestamp = '2300-01-01' where id = {newest(conn, 'far')}")
            audit.seal(conn, key=KEY)
            conn.execute("insert into orders values ('signed', 'paid', 1)")
            audit.seal(conn, key=KEY)
            audit.verify(conn, public_keys=KEY.public)
            found = {name: newest(conn, name) for name in (*names, "signed", "n5")}
            audit.erase(conn, "orders", "erased@x.example")
            audit.seal(conn, key=KEY)
            conn.execute("insert into orders values ('unsealed', 'paid', 1)")
            found["unsealed"] = newest(conn, "unsealed")
        forge(conninfo, f"update svc.audit_logs set actor_id = 'mallory' where id = {found['changed']}")
        forge(
            conninfo, f"update svc.audit_logs set timestamp = timestamp - interval '1 ms' where id = {found['redated']}"
        )
        forge(
            conninfo,
            f"""update svc.audit_logs
                   set erased_leaf = sha256(convert_to(svc.audit_content(audit_logs), 'UTF8')),
                       after_data = '{{"status": "FORGED"}}', description = 'FORGED', record_id = 'FORGED'
                 where id = {found["forged"]}""",
        )
        forge(conninfo, "update svc.audit_seals set signature = sha256(signature) || sha256('x') where number = 2")
        with serving(console(conninfo, seal_public_keys=KEY.public.text)) as base_url:
            yield Opened(conninfo, base_url, found)


def console(conninfo: str, **overrides: object) -> Any:
    return Console(settings(database_url=conninfo, **overrides), config=CONFIG).asgi


def newest(conn: psycopg.Connection[Any], record: str) -> str:
    return audit.query().resource("orders").record(record).limit(1).list(conn).data[0].id


@contextmanager
def somebody(browser: Browser, base_url: str) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    token = bearer("write")["Authorization"].removeprefix("Bearer ")
    context.add_cookies([{"name": "svc_console", "value": token, "url": f"{base_url}{PREFIX}/ui/"}])
    try:
        yield context.new_page()
    finally:
        context.close()


def verdict_of(page: Page) -> str:
    """The verdict, when the browser has come to one."""
    expect(page.locator("[data-summary]")).to_contain_text("By this browser at")
    return page.locator("[data-verdict]").inner_text()


def steps_of(page: Page) -> dict[str, str]:
    """The state of each step, by its icon."""
    icons = {"#ok": "ok", "#warn": "bad", "#wait": "wait", "#info": "info"}
    found = {}
    for name in STEPS:
        href = page.locator(f"[data-step={name}] use").get_attribute("href") or ""
        found[name] = icons[f"#{href.rpartition('#')[2]}"]
    return found


def test_a_browser_verifies_an_entry_by_itself(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(opened.proof("whole"))
        assert verdict_of(page) == "Proven"
        assert steps_of(page) == dict.fromkeys(STEPS, "ok")
        assert "with the key that this console gave" in page.locator("[data-summary]").inner_text()
        assert page.locator(".climb .differs").count() == 0
        page.locator("#other-key").fill("nonsense")
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("#key-said")).to_contain_text("This is no public key")
        page.locator("#other-key").fill(f"SVC_SEAL_KEY={KEY.text}")
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("#key-said")).to_contain_text("private key")
        page.locator("#other-key").fill(KEY.public.text)
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("[data-summary]")).to_contain_text("with the key that you pasted")
        assert verdict_of(page) == "Proven"
        page.locator("#other-key").fill(OTHER.public.text)
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("[data-verdict]")).to_have_text("Not proven")
        assert steps_of(page) == {"contents": "ok", "leaf": "ok", "path": "ok", "signature": "bad"}


@pytest.mark.parametrize(
    ("record", "verdict", "steps", "words"),
    [
        ("changed", "Not proven", {"leaf": "bad"}, "its digest was"),
        ("redated", "Not proven", {"leaf": "bad"}, "its time was"),
        ("signed", "Not proven", {"signature": "bad"}, "fit the key s1"),
        ("erased@x.example", "What is left is proven", {"contents": "info"}, "they were erased"),
    ],
)
def test_a_browser_names_what_differs(
    browser: Browser, opened: Opened, record: str, verdict: str, steps: dict[str, str], words: str
) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(opened.proof(record))
        assert verdict_of(page) == verdict
        assert steps_of(page) == dict.fromkeys(STEPS, "ok") | steps
        assert words in page.locator(".checks").inner_text()


def test_an_entry_without_a_seal_is_not_proven(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(opened.proof("unsealed"))
        assert verdict_of(page) == "Not checked"
        assert "not sealed yet" in page.locator("[data-summary]").inner_text()
        assert "Proven" not in page.locator("main").inner_text()


def test_of_a_forged_erasure_nothing_but_its_first_part_is_shown(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(opened.proof("forged"))
        assert verdict_of(page) == "What is left is proven"
        assert "FORGED" not in page.content()
        page.goto(f"{opened.pages}/audit/records/public.orders/FORGED/certificate")
        assert verdict_of(page) == "Not checked"
        assert page.locator("[data-state]").all_inner_texts() == ["Its record is not proven"]
        assert "FORGED" not in page.locator("table.certified tbody").inner_text()


def test_a_certificate_of_another_subject_is_not_proven(browser: Browser, opened: Opened) -> None:
    subjects: list[tuple[dict[str, Any], str]] = [
        ({"subject": "record", "table": "public.orders", "record": "n6"}, "Its record is not proven"),
        ({"subject": "record", "table": "public.items", "record": "whole"}, "Its record is not proven"),
        ({"subject": "erasure"}, "It tells of no erasure"),
        ({"subject": None}, "The certificate has no subject"),
    ]
    for subject, words in subjects:
        with somebody(browser, opened.base_url) as page:
            page.route("**/certificate.json", partial(renamed, subject))
            page.goto(f"{opened.pages}/audit/records/public.orders/whole/certificate")
            assert verdict_of(page) == "Not proven"
            assert page.locator("[data-state]").first.inner_text() == words


def test_a_time_beyond_the_numbers_of_a_browser_is_not_said_to_be_false(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(opened.proof("far"))
        assert verdict_of(page) == "Not checked"
        assert "too large for this browser" in page.locator("[data-summary]").inner_text()


def test_an_older_run_says_nothing_after_a_newer_one(browser: Browser, opened: Opened) -> None:
    held: list[Route] = []
    with somebody(browser, opened.base_url) as page:
        page.route("**/certificate.json", lambda route: route.continue_() if held else held.append(route))
        page.goto(opened.proof("whole"))
        page.locator("#other-key").fill(OTHER.public.text)
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("[data-verdict]")).to_have_text("Not proven")
        with page.expect_response("**/certificate.json") as late:
            held[0].continue_()
        late.value.finished()
        page.evaluate("crypto.subtle.digest('SHA-256', new Uint8Array(1 << 20))")
        expect(page.locator("[data-verdict]")).to_have_text("Not proven")
        assert "with the key that you pasted" not in page.locator("main").inner_text()


def test_a_browser_without_ed25519_says_so_and_what_it_checked(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.add_init_script(f"({_WITHOUT_ED25519})()")
        page.goto(opened.proof("whole"))
        assert verdict_of(page) == "Not checked"
        assert steps_of(page) == {"contents": "ok", "leaf": "ok", "path": "ok", "signature": "wait"}
        assert "this browser has no Ed25519" in page.locator(".checks").inner_text()


def test_nothing_is_said_to_be_proven_if_nothing_was_checked(browser: Browser, opened: Opened) -> None:
    answers: list[dict[str, Any]] = [
        {"status": 503, "body": "{}"},
        {"status": 200, "body": "<html>"},
        {"status": 200, "body": '{"entries": []}'},
        {"status": 200, "body": '{"entries": [{"id": "1", "state": "sealed", "proof": {"seal": {}}}]}'},
    ]
    for answer in answers:
        with somebody(browser, opened.base_url) as page:
            page.route("**/certificate.json", partial(respond, answer))
            page.goto(opened.proof("whole"))
            expect(page.locator("[data-summary]")).not_to_contain_text("A browser checks it here")
            assert page.locator("[data-verdict]").inner_text() in ("Not checked", "Not proven"), answer
    context = browser.new_context(java_script_enabled=False)
    token = bearer("write")["Authorization"].removeprefix("Bearer ")
    context.add_cookies([{"name": "svc_console", "value": token, "url": f"{opened.pages}/"}])
    page = context.new_page()
    page.goto(opened.proof("whole"))
    assert page.locator("[data-verdict]").inner_text() == "Not checked in this browser"
    assert page.locator(".climb li").count() > 3
    assert "Without JavaScript this browser checks nothing" in page.content()
    assert not page.locator("#other-key").is_visible()
    context.close()


def renamed(subject: dict[str, Any], route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | subject)


def respond(answer: dict[str, Any], route: Route) -> None:
    route.fulfill(content_type="application/json", **answer)


def test_a_console_without_a_key_checks_all_but_the_signature(browser: Browser, opened: Opened) -> None:
    with serving(console(opened.conninfo)) as base_url, somebody(browser, base_url) as page:
        page.goto(opened.proof("whole").replace(opened.base_url, base_url))
        assert verdict_of(page) == "Not checked"
        assert steps_of(page) == {"contents": "ok", "leaf": "ok", "path": "ok", "signature": "wait"}
        page.locator("#other-key").fill(KEY.public.text)
        page.get_by_role("button", name="Check with this key").click()
        expect(page.locator("[data-verdict]")).to_have_text("Proven")


def test_records_and_erasures_are_verified_entry_by_entry(browser: Browser, opened: Opened) -> None:
    with somebody(browser, opened.base_url) as page:
        page.goto(f"{opened.pages}/audit/records/public.orders/whole/certificate")
        assert verdict_of(page) == "Proven"
        assert page.locator("[data-state]").all_inner_texts() == ["Proven", "Proven"]
        page.goto(f"{opened.pages}/audit/records/public.orders/changed/certificate")
        assert verdict_of(page) == "Not proven"
        assert page.locator("[data-state]").all_inner_texts() == ["It is not as it was sealed", "Proven"]
        page.goto(opened.proof("erased@x.example"))
        page.get_by_role("link", name="Certificate of the erasure").click()
        assert verdict_of(page) == "Proven"
        assert page.locator("[data-state]").all_inner_texts() == ["Proven", *["What is left is proven"] * 2]


def test_pages_of_proofs_keep_the_laws_and_print_on_one_page(browser: Browser, opened: Opened) -> None:
    inspection = Inspection()
    addresses = {
        "/audit/entries/:id/proof": opened.proof("whole"),
        "/deep": opened.proof("n5"),
        "/changed": opened.proof("changed"),
        "/erased": opened.proof("erased@x.example"),
        "/unsealed": opened.proof("unsealed"),
        "/audit/records/:table/:id/certificate": f"{opened.pages}/audit/records/public.orders/changed/certificate",
    }
    with somebody(browser, opened.base_url) as page, watched(page.context, opened.base_url):
        page.goto(opened.proof("erased@x.example"))
        addresses["/erasure"] = page.get_by_role("link", name="Certificate of the erasure").evaluate("(a) => a.href")
        for path, address in addresses.items():
            answer = page.goto(address)
            verdict_of(page)
            assert answer is not None
            assert page.pdf(format="A4").count(b"/Type /Page\n") == 1, address
            assert inspection.broken_laws(page, answer.text(), path) == []


def proofs_of(folder: str) -> list[dict[str, Any]]:
    """Each entry of a vector that a seal has by its id: as it is in the export, with the leaf that the seal has."""
    lines = [line for _, line in alone.lines_of(VECTORS / folder / "export.ndjson")]
    entries = {entry.id: entry for entry in map(alone.read_entry, lines)}
    found = []
    for seal, kept in alone.seals_of(VECTORS / folder / "seals.ndjson"):
        leaves = alone.split(kept or b"")
        for place, leaf in enumerate(leaves):
            entry_id = int.from_bytes(leaf[:8], "big")
            if seal.version != 2 or entry_id not in entries:
                continue
            found.append(certified_of(entries[entry_id], seal, leaves, place))
    return found


def certified_of(entry: alone.Entry, seal: alone.Seal, leaves: list[bytes], place: int) -> dict[str, Any]:
    level, path, at = [sha256(b"\0" + leaf).digest() for leaf in leaves], [], place
    while len(level) > 1:
        if (beside := at ^ 1) < len(level):
            path.append({"left" if beside < at else "right": level[beside].hex()})
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [sha256(b"\1" + a + b).digest() for a, b in pairs] + level[len(level) & ~1 :]
        at //= 2
    erased = json.loads(entry.content)[-1]
    digest = bytes.fromhex(erased) if erased else sha256(entry.content.encode()).digest()
    proof = {
        "kind": "svc-pg audit proof",
        "version": 2,
        "entry": {
            "id": entry.id,
            "time": entry.time,
            "who": entry.who,
            "content": None if erased else entry.content,
            "digest": digest.hex(),
        },
        "path": path,
        "seal": {"text": seal.text, "signature": base64.b64encode(seal.signature).decode()},
    }
    is_same = entry.leaf == leaves[place]
    return {
        "id": str(entry.id),
        "state": "sealed" if is_same else "changed",
        "sealedLeaf": None if is_same else leaves[place].hex(),
        "proof": proof,
    }


@pytest.mark.parametrize("case", sorted(folder.name for folder in VECTORS.iterdir() if folder.is_dir()))
def test_the_script_finds_what_the_verifier_in_one_file_finds(browser: Browser, opened: Opened, case: str) -> None:
    """Of each entry by itself: what only the whole log shows, such as a missing one, no proof of one entry can show."""
    done = alone.verify(VECTORS / case / "export.ndjson", VECTORS / case / "seals.ndjson", VECTORS / "key")
    named = {each["entry"] for each in done.findings if each["kind"] in ("changed", "redated", "swapped")}
    unsigned = {each["seal"] for each in done.findings if each["kind"] in ("seal_changed", "seal_of_unknown_key")}
    exchanged = [each["seal"] for each in done.findings if each["kind"] == "seals_swapped"]
    swapped = {seal + step for seal in exchanged for step in (0, 1)}
    keys = (VECTORS / "key").read_text()
    with somebody(browser, opened.base_url) as page:
        page.goto(f"{opened.pages}/audit")
        script = f"{opened.pages}/static/proof.js"
        for certified in proofs_of(case):
            found = page.evaluate(_CHECK, [script, certified, keys])
            seal = json.loads(certified["proof"]["seal"]["text"])["number"]
            steps = {name: step["state"] for name, step in found["steps"].items()}
            if seal in unsigned | swapped:
                assert steps["signature"] in ("bad", "wait"), (case, certified["id"], found)
            elif certified["state"] == "changed":
                assert steps["leaf"] == "bad"
            elif int(certified["id"]) not in named and not case.startswith("leaves"):
                assert found["state"] == "ok", (case, certified["id"], found)
            assert (found["state"] == "ok") <= (certified["state"] == "sealed")
    if case == "intact":
        assert len(proofs_of(case)) > 10
