"""The pages of the audit log: find an entry, read it, follow its record and the log; hostile values stay texts."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest

from svc_pg import Config, audit, webhooks
from svc_pg.console import Console
from svc_pg.formats.unseen import marked
from svc_pg.webhooks.deliveries.caused_deliveries import MOST_DELIVERIES
from tests.integration.console.browsing import HOSTILE, Browser, Document, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.hooks import endpoint
from tests.support.postgres import new_database
from tests.support.tables import add_entry, create_and_audit

CONFIG = Config()
CONFIG.audit.table("public.customer", redact={"card": "last4", "secret": "remove"})
CONFIG.audit.enrich(
    "public.customer",
    "UPDATE",
    label="Email changed",
    severity="high",
    compliance=["gdpr"],
    when={"changed": ["email"]},
)
CONFIG.audit.table("public.note", title="body")
CONFIG.audit.table("public.page_view")
CONFIG.webhooks.event("customer.updated")
DDL = """
create table customer (id text primary key, email text, card text, secret text, notes text);
create table note (id int primary key, body text);
create table page_view (id int, day date, primary key (id, day)) partition by range (day);
create table page_view_2025 partition of page_view for values from ('2025-01-01') to ('2026-01-01');
"""
BIG = "x" * 1_000_000


def act(conn: psycopg.Connection[Any], actor: str, *statements: str, **context: str) -> None:
    with conn.transaction(), audit.actor(conn, actor, tenant="acme", context=context):
        for statement in statements:
            conn.execute(statement)


@pytest.fixture(scope="module")
def installed(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        endpoint(conninfo, CONFIG, "https://hooks.example/in")
        with psycopg.connect(conninfo) as conn:
            act(conn, "signup", "insert into customer values ('a/7', 'ines@mail.example', '4242424242424242', 's', '')")
            act(
                conn,
                "mara",
                "update customer set email = 'ines@studio.example', card = '4242424242421881', secret = 't'",
                "insert into note values (1, 'asked by phone')",
                "select svc.send('customer.updated', '{}')",
                reason="ticket 4471",
            )
            conn.execute("update customer set notes = null")
            act(conn, "jonas", f"update customer set notes = '{BIG}'", "insert into note values (2, null)")
            act(conn, "jonas", f"update customer set notes = '{BIG}y'")
            act(conn, "janitor", "truncate page_view_2025")
            act(conn, "cleaner", "truncate page_view")
            for number, text in enumerate(HOSTILE):
                audit.capture_log(
                    conn,
                    "hostile",
                    "UPDATE",
                    record_id=text,
                    before={text: text},
                    after={text: text + "!", "n": number},
                    label=text,
                    compliance=[text],
                    description=text,
                )
            conn.commit()
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=installed), config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client) -> Browser:
    return signed_in(client, "read")


def entry_of(conninfo: str, condition: str) -> str:
    with psycopg.connect(conninfo) as conn:
        [(entry_id,)] = conn.execute(f"select id::text from svc.audit_logs where {condition}").fetchall()
        return str(entry_id)


def links(page: httpx.Response) -> set[str]:
    """The addresses below /ui, each with its parameters in their order."""
    found = (link.partition("/ui")[2].partition("?") for link in Document(page.text).values("href"))
    return {path + mark + "&".join(sorted(query.split("&"))) for path, mark, query in found}


def test_an_emptied_partition_is_not_read_as_an_emptied_table(reader: Browser, installed: str) -> None:
    listed = unescape(reader.get("/audit?resource=public.page_view&view=rows").text)
    assert ("Emptied page_view_2025" in listed, "Emptied page_view<" in listed) == (True, True)
    said = unescape(reader.get("/audit?resource=public.page_view").text)
    assert "emptied the partition <bdi>page_view_2025</bdi> of <bdi>page_view</bdi>" in said
    part = entry_of(installed, "actor_id = 'janitor'")
    whole = entry_of(installed, "actor_id = 'cleaner' and partition is null")
    assert "emptied the partition <bdi>page_view_2025</bdi> of" in reader.get(f"/audit/entries/{part}").text
    assert "emptied the partition" not in reader.get(f"/audit/entries/{whole}").text


def test_filters_are_in_the_address_and_each_has_a_chip_that_takes_it_away(reader: Browser) -> None:
    page = reader.get("/audit?actor=mara&actor=jonas&notResource=public.note&since=1h&resource=")
    assert page.status_code == 200
    assert "3 entries match" in page.text
    assert "Email changed" in page.text
    assert {
        "/audit?actor=jonas&notResource=public.note&since=1h",
        "/audit?actor=jonas&actor=mara&since=1h",
        "/audit?actor=jonas&actor=mara&notResource=public.note",
    } <= links(page)
    # what could be chosen besides, and a value in use that is taken away
    assert "/audit?actor=jonas&actor=mara&notResource=public.note&severity=high&since=1h" in links(page)
    assert "/audit/records/public.customer/a%2F7" in links(page)
    assert "No entry matches" in reader.get("/audit?actor=nobody").text
    assert "1 entry matches" in reader.get("/audit?missing=actor&resource=customer").text


def test_a_chip_has_its_value_as_people_read_it(reader: Browser) -> None:
    filters = "operation=UPDATE&minSeverity=high&resource=public.customer&since=1d"
    page = reader.get(f"/audit?{filters}&actor=public.mara&notActor={'x' * 61}&record=public.customer")
    assert page.status_code == 200
    found = dict(re.findall(r'<span class="chip">(.*?) <b><bdi>(.*?)</bdi></b>', unescape(page.text)))
    assert found == {
        "Operation": "changed",
        "Severity at least": "high",
        "Table": "customer",
        "Actor": "public.mara",
        "Not actor": "x" * 60 + "…",
        "Record": "public.customer",
        "Since": "1 day ago",
    }


def test_a_filter_that_cannot_be_read_stays_in_the_form_with_what_is_wrong(reader: Browser) -> None:
    page = reader.get("/audit?since=yesterday&actor=mara&text=phone")
    assert page.status_code == 422
    assert "yesterday" in page.text
    assert 'value="phone"' in page.text
    assert 'role="alert"' in page.text
    assert reader.get("/audit?cursor=x").status_code == 422
    assert reader.get("/audit?around=999999").status_code == 404


def test_pages_lead_on_and_back_and_a_search_goes_stretch_by_stretch(
    reader: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.console.pages.audit.log.ROWS", 4)
    page = reader.get("/audit?view=rows")
    [older] = [link for link in links(page) if "cursor=" in link]
    page = reader.get(older)
    [newer] = [link for link in links(page) if "before=" in link]
    first = reader.get(newer)
    assert [link for link in links(first) if "before=" in link] == []
    found = reader.get("/audit?text=phone&view=rows")
    assert "<bdi>note</bdi> <bdi>asked by phone</bdi></a>" in found.text
    assert "Email changed</bdi></a>" not in found.text
    monkeypatch.setattr("svc_pg.audit.read.search.MAX_ENTRIES", 2)
    assert "Nothing found up to here" in reader.get("/audit?text=phone&view=rows").text


def test_an_entry_shows_what_changed_who_and_why_and_what_came_with_it(reader: Browser, installed: str) -> None:
    changed = entry_of(installed, "label = 'Email changed'")
    page = reader.get(f"/audit/entries/{changed}")
    assert "ines@<del>mail</del>.example" in page.text
    assert "ines@<ins>studio</ins>.example" in page.text
    assert "Disguised before it was stored" in page.text
    assert "42424242" not in page.text
    assert "Changed; its values are not recorded" in page.text
    for text in ("mara", "acme", "gdpr", "ticket 4471", "3 changed, 2 unchanged"):
        assert text in page.text
    note = entry_of(installed, "table_name = 'public.note' and record_id = '1'")
    assert f"/audit/entries/{note}" in links(page)
    previous, following = (
        entry_of(installed, f"table_name = 'public.customer' and {what}")
        for what in ("operation = 'INSERT'", "after_data ->> 'notes' is null")
    )
    assert {f"/audit/entries/{previous}", f"/audit/entries/{following}"} <= links(page)
    assert "no actor" in reader.get("/audit?missing=actor&resource=customer").text
    assert "none was set" in reader.get(f"/audit/entries/{following}").text
    assert reader.get("/audit/entries/999999").status_code == 404


def test_a_change_leads_to_the_webhooks_that_its_transaction_sent(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        [(delivery,)] = conn.execute("select id::text from svc.webhook_deliveries").fetchall()
    changed = entry_of(installed, "label = 'Email changed'")
    record = reader.get("/audit/records/public.customer/a%2F7")
    assert record.text.count("Told by webhook: 1 delivery<") == 1
    entry = reader.get(f"/audit/entries/{changed}")
    assert "Told by webhook" in entry.text
    for page in (record, entry):
        assert "customer.updated" in page.text
        assert f"/deliveries/{delivery}" in links(page)
    back = links(reader.get(f"/deliveries/{delivery}"))
    assert [link for link in back if link.startswith("/audit")]


def test_each_page_leads_to_all_deliveries_of_a_transaction_with_more_than_it_shows(
    postgres: str, template: str
) -> None:
    with new_database(postgres, template=template) as conninfo:
        create_and_audit(conninfo, DDL, CONFIG)
        endpoint(conninfo, CONFIG, "https://hooks.example/in")
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into note values (1, 'told')")
            webhooks.send_many(conn, "customer.updated", [{}] * (MOST_DELIVERIES + 1))
            [(entry_id, xact_id)] = conn.execute("select id, xact_id from svc.audit_logs order by id desc limit 1")
        with serving_installed(Console(settings(database_url=conninfo), config=CONFIG)) as client:
            reader = signed_in(client, "read")
            record = "/audit/records/public.note/1"
            for path in (f"/audit/entries/{entry_id}", f"/audit/transactions/{xact_id}", record, "/audit"):
                page = reader.get(path)
                assert_strict(page.text)
                assert f"/deliveries?transaction={xact_id}" in links(page), path
            assert f"Told by webhook: {MOST_DELIVERIES} deliveries or more" in reader.get(record).text
            shown = links(reader.get(f"/deliveries?transaction={xact_id}"))
            assert len([link for link in shown if re.fullmatch("/deliveries/[0-9a-f-]{36}", link)]) > MOST_DELIVERIES


def test_a_megabyte_is_cut_around_what_differs_and_can_be_saved_whole(reader: Browser, installed: str) -> None:
    entry_id = entry_of(installed, "after_data ->> 'notes' like '%xy'")
    page = reader.get(f"/audit/entries/{entry_id}")
    assert "<ins>y</ins>" in page.text
    assert "1 MB" in page.text
    assert len(page.content) < 100_000
    whole = reader.get(f"/audit/entries/{entry_id}/after.json")
    assert whole.json()["notes"] == BIG + "y"
    assert whole.headers["content-disposition"] == f'attachment; filename="entry-{entry_id}-after.json"'
    assert reader.get(f"/audit/entries/{entry_id}/else.json").status_code == 404
    for path in ("/audit?fields=afterData", "/audit/records/public.customer/a%2F7", "/tail"):
        assert len(reader.get(path).content) < 200_000


def test_a_record_shows_its_life_with_the_transactions_around_it(reader: Browser) -> None:
    page = reader.get("/audit/records/public.customer/a%2F7")
    assert "5 changes by 4 actors" in page.text
    assert "Same transaction: 1 other change<" in page.text
    assert page.text.index("changed <b><bdi>notes</bdi></b>") < page.text.index("created the record with 4 fields")
    assert "/audit?actor=mara&record=a%2F7&resource=public.customer" in links(page)
    assert "/audit?missing=actor&record=a%2F7&resource=public.customer" in links(page)
    unknown = reader.get("/audit/records/public.customer/8")
    assert (unknown.status_code, "No entry is about this record" in unknown.text) == (404, True)


def test_a_record_has_the_name_that_its_title_gives_it(reader: Browser, installed: str) -> None:
    entry_id = entry_of(installed, "table_name = 'public.note' and record_id = '1'")
    for page in ("/audit/records/public.note/1", f"/audit/entries/{entry_id}"):
        assert "<bdi>asked by phone</bdi>" in reader.get(page).text.partition("<section")[0]


def test_a_long_transaction_is_never_shown_as_a_short_one(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        conn.execute("insert into note select n, 'together' from generate_series(201, 230) n")
    for record in ("201", "229", "215"):
        page = reader.get(f"/audit/records/public.note/{record}")
        assert re.search(r"Same transaction: \d+ or more other changes<", page.text)
        assert "All of them" in page.text
        entry_id = entry_of(installed, f"table_name = 'public.note' and record_id = '{record}'")
        assert "All of this transaction" in reader.get(f"/audit/entries/{entry_id}").text


def test_the_tail_shows_what_came_since_it_was_opened_and_what_was_committed_late(
    reader: Browser, installed: str
) -> None:
    with psycopg.connect(installed) as slow, psycopg.connect(installed, autocommit=True) as quick:
        slow.execute("insert into note values (100, 'late')")
        page = reader.get("/tail?resource=note")
        address = str(page.url).partition("/ui")[2]
        assert "after=" in address
        assert "Nothing new" in page.text
        quick.execute("insert into note values (101, 'soon')")
        assert "note</bdi> <bdi>soon" in reader.get(address).text
        slow.commit()
        page = reader.get(address)
    assert "2 entries since this page was opened" in page.text
    assert page.text.count('<span class="tag">new</span>') == 2
    assert page.text.index("<bdi>soon</bdi>") < page.text.index("<bdi>late</bdi>")
    assert 'data-live="1"' in page.text
    assert reader.get("/tail?after=x").status_code == 422


def test_what_leaves_the_list_is_the_selection_that_it_shows(client: httpx.Client) -> None:
    writer = signed_in(client, "write")
    shown = writer.get("/audit?text=ines@studio.example&resource=customer&since=1h&view=rows")
    listed = {link for link in links(shown) if link.startswith("/audit/entries/")}
    assert "Follow live" not in shown.text
    [export] = [link for link in links(shown) if link.startswith("/audit/export?format=ndjson")]
    assert {"text=ines%40studio.example", "resource=customer", "since=1h"} < {*export.partition("?")[2].split("&")}
    exported = [json.loads(line) for line in writer.get(export).text.splitlines()]
    assert {f"/audit/entries/{entry['id']}" for entry in exported} == listed
    assert "ines@studio.example" in json.dumps(exported)
    for asked in ("text=x", "contains={}", "until=1h"):
        assert "Follow live" not in writer.get(f"/audit?{asked}").text
        refused = writer.get(f"/tail?{asked}&resource=note")
        assert (refused.status_code, "The log cannot be followed by" in refused.text) == (422, True)
    tail = writer.get("/tail?resource=note&since=30d")
    assert "Remove filter: Since" in tail.text


def test_an_actor_with_characters_that_nobody_sees_does_not_look_like_another(reader: Browser, installed: str) -> None:
    with psycopg.connect(installed) as conn:
        for actor in ("ann\u200b@corp.example", "\u202eevil"):
            conn.execute("select set_config('svc.actor_id', %s, true)", [actor])
            add_entry(conn, "public.forged", "UPDATE", record_id="1", after={"name": actor})
    for path in ("/audit?resource=forged", "/audit/records/public.forged/1", "/tail?resource=forged&since=1h"):
        shown = reader.get(path).text
        for marked_name in ("ann⟨U+200B⟩@corp.example", "⟨U+202E⟩evil"):
            assert marked_name in shown, path


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values_stay_texts(reader: Browser, installed: str, text: str) -> None:
    with psycopg.connect(installed) as conn:
        [(entry_id,)] = conn.execute("select id from svc.audit_logs where label = %s", [text]).fetchall()
    for path in (
        "/audit",
        f"/audit?{'&'.join(f'{name}={quote(text)}' for name in ('label', 'actor', 'notTenant', 'record', 'changed'))}",
        f"/audit?text={quote(text)}&since={quote(text)}",
        f"/audit/entries/{entry_id}",
        f"/audit/records/public.hostile/{quote(text, safe='')}",
        f"/audit/records/{quote(text, safe='')}/{quote(text, safe='')}",
        f"/tail?label={quote(text)}",
    ):
        page = reader.get(path)
        assert page.status_code in (200, 404, 422)
        assert_strict(page.text)
        assert "<script>alert" not in page.text
        assert "onerror=alert(1)>" not in page.text
        assert "{{7*7}}" in page.text or "7*7" not in text
    shown = unescape(reader.get(f"/audit/entries/{entry_id}").text)
    assert f"<bdi>{marked(text)}</bdi></h1>" in shown.replace("\n", "").replace(" </h1>", "</h1>")


def test_who_may_not_export_is_not_offered_it_and_refused(client: httpx.Client, reader: Browser) -> None:
    assert "/audit/export" not in reader.get("/audit").text
    assert reader.get("/audit/export?format=csv").status_code == 403
    writer = signed_in(client, "write")
    assert writer.get("/audit/export?format=parquet").status_code == 422
    assert isinstance(writer.get("/audit/export?format=json").json(), list)
    [address] = [
        link for link in links(writer.get("/audit?actor=mara&text=ines@studio.example")) if "format=csv" in link
    ]
    file = writer.get(address)
    assert file.headers["content-disposition"] == (
        'attachment; filename="audit-log-actor-mara-ines-studio-example.csv"'
    )
    assert len(file.text.splitlines()) == 2
    assert '"mara"' in file.text or ",mara," in file.text
    for question, name in (
        ("", "audit-log"),
        ("actor=%0D%0AX-Evil:%20%22../x%22", "audit-log-actor-X-Evil-x"),
        (f"actor={'m' * 200}", "audit-log-actor-" + "m" * 84),
        ("actor=%D7%A9", "audit-log-actor"),
    ):
        shown = writer.get(f"/audit/export?format=csv&{question}").headers["content-disposition"]
        assert shown == f'attachment; filename="{name}.csv"'
