"""Named views on the pages: beside the bar of each list, kept by a form, changed and deleted on a page of their own."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import Config
from svc_pg.console import Console
from svc_pg.console.views.named_views import LISTS, LONGEST_NAME, MOST_OF_ONE
from svc_pg.questions.reading import MOST_CHARACTERS
from tests.integration.console.browsing import HOSTILE, OWN, Browser, assert_strict, hidden, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.integration.console.signing_in import rows
from tests.integration.console.test_page_asking import in_bar
from tests.support.hooks import KEYS_TEXT, hooks_config, install
from tests.support.postgres import new_database

CONFIG: Config = hooks_config("order.created", "order.paid")
QUESTIONS = {
    "audit": ("actor:mara severity:critical", {"actor": ["mara"], "severity": ["critical"]}),
    "deliveries": ("status:failed 24h", {"status": ["failed"], "since": ["24h"]}),
    "messages": ("event:order.paid", {"event": ["order.paid"]}),
    "endpoints": ("status:active north", {"status": ["active"], "text": ["north"]}),
}


@pytest.fixture(scope="module")
def installed(postgres: str) -> Iterator[str]:
    with new_database(postgres) as conninfo:
        install(conninfo, CONFIG)
        yield conninfo


@pytest.fixture(scope="module")
def client(installed: str) -> Iterator[httpx.Client]:
    given = settings(database_url=installed, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


@pytest.fixture
def reader(client: httpx.Client, installed: str) -> Browser:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("delete from svc.console_views")
    return signed_in(client, "read")


@pytest.fixture
def writer(client: httpx.Client, reader: Browser) -> Browser:  # noqa: ARG001 - which begins without views
    return signed_in(client, "write")


def keep(browser: Browser, of: str, name: str, question: str, **fields: str) -> httpx.Response:
    return browser.post("/views", {"of": of, "name": name, "question": question, **fields})


def kept(installed: str) -> list[tuple[object, ...]]:
    return rows(installed, "select list, owner, name, question from svc.console_views order by name")


def the_id(installed: str) -> str:
    [(found,)] = rows(installed, "select id::text from svc.console_views")
    return str(found)


def chips(page: httpx.Response) -> list[tuple[str, bool]]:
    """The names of the views beside the bar, and whether each is the question of the page."""
    found = re.findall(
        r'<span class="chip"><a href="[^"]*/views/[^"]*"([^>]*)>.*?<bdi>(.*?)</bdi>', page.text, re.DOTALL
    )
    return [(unescape(name), "aria-current" in attributes) for attributes, name in found]


@pytest.mark.parametrize("of", LISTS)
def test_a_kept_question_stands_beside_the_bar_of_its_list_and_opens_as_its_address(
    reader: Browser, installed: str, of: str
) -> None:
    question, filters = QUESTIONS[of]
    asked = reader.get(f"/{of}?q={quote(question)}")
    assert in_bar(asked) == question
    assert "Keep this question" in asked.text
    assert hidden(reader, str(asked.url).partition("/ui")[2])["of"] == of
    page = keep(reader, of, "Mine", question)
    assert (urlsplit(str(page.url)).path.rpartition("/")[2], parse_qs(urlsplit(str(page.url)).query)) == (of, filters)
    assert chips(page) == [("Mine", True)]
    assert_strict(page.text)
    assert kept(installed) == [(of, "ann@corp.example", "Mine", question)]
    assert chips(reader.get(f"/{of}")) == [("Mine", False)]
    assert "Keep this question" not in reader.get(f"/{of}").text, "a list that is asked nothing has nothing to keep"
    others = [reader.get(f"/{other}") for other in LISTS if other != of]
    assert [chips(other) for other in others] == [[], [], []]


def test_a_view_of_the_log_keeps_the_switch_to_rows(reader: Browser, installed: str) -> None:
    asked = reader.get("/audit?actor=mara&view=rows")
    assert hidden(reader, "/audit?actor=mara&view=rows")["of"] == "audit"
    assert in_bar(asked) == "actor:mara show:rows"
    page = keep(reader, "audit", "Mara's rows", in_bar(asked))
    assert parse_qs(urlsplit(str(page.url)).query) == {"actor": ["mara"], "view": ["rows"]}
    assert chips(page) == [("Mara's rows", True)]
    assert chips(reader.get("/audit?actor=mara")) == [("Mara's rows", False)]
    opened = reader.get(f"/views/{the_id(installed)}")
    assert "<h2>Entries</h2>" in opened.text
    [(_, is_current)] = chips(reader.get("/audit?actor=mara&view=rows&cursor="))
    assert is_current


def test_a_view_is_renamed_takes_over_the_present_question_and_is_deleted(reader: Browser, installed: str) -> None:
    keep(reader, "deliveries", "Failed", "status:failed")
    at = f"/views/{the_id(installed)}/edit"
    page = reader.get(f"{at}?question={quote('status:pending 24h')}")
    assert_strict(page.text)
    assert "Take over the present question" in page.text
    fields = hidden(reader, at) | {"whose": "own"}
    assert fields["was"] == ""  # of the last form, which deletes
    fields = {"whose": "own", "was": "status:failed", "seen": fields["seen"], "name": "Failed"}
    opened = reader.post(at, fields | {"question": "status:pending 24h"})
    assert in_bar(opened) == "status:pending 24h"
    assert kept(installed)[0][2:] == ("Failed", "status:pending 24h")
    refused = reader.post(at, fields | {"name": "Other", "question": "status:failed"})
    assert refused.status_code == 412
    assert "It has changed since you read it" in refused.text
    assert 'value="Other"' in refused.text, "what was typed stays"
    seen = hidden(reader, at)["seen"]
    reader.post(at, fields | {"seen": seen, "name": "Waiting", "question": "status:failed"})
    assert kept(installed)[0][2:] == ("Waiting", "status:pending 24h"), "a question that is not changed is not sent"
    page = reader.post(at.replace("edit", "delete"), {"whose": "own", "of": "deliveries"})
    assert urlsplit(str(page.url)).path.endswith("/ui/deliveries")
    assert kept(installed) == []
    assert reader.get(at).status_code == 404


def test_a_reader_makes_and_changes_no_view_of_the_team(reader: Browser, writer: Browser, installed: str) -> None:
    question = "/deliveries?q=status:failed"
    assert "For the team" not in reader.get(question).text
    assert "For the team" in writer.get(question).text
    refused = keep(reader, "deliveries", "Team", "status:failed", whose="team")
    assert refused.status_code == 403
    assert kept(installed) == []
    keep(writer, "deliveries", "Team", "status:failed", whose="team")
    view = the_id(installed)
    assert chips(reader.get("/deliveries")) == [("Team", False)]
    assert f"/views/{view}/edit" not in reader.get("/deliveries").text + reader.get("/views").text
    assert f"/views/{view}/edit" in writer.get("/deliveries").text
    page = reader.get(f"/views/{view}/edit")
    assert 'method="post" action="/.well-known/svc/ui/views' not in page.text
    for action, fields in (("edit", {"name": "x", "question": "status:failed", "was": ""}), ("delete", {})):
        for whose, status in (("team", 403), ("own", 404)):
            assert reader.post(f"/views/{view}/{action}", {"whose": whose, **fields}).status_code == status
    assert kept(installed) == [("deliveries", None, "Team", "status:failed")]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
def test_a_forged_form_changes_nothing(reader: Browser, installed: str, headers: dict[str, str]) -> None:
    keep(reader, "deliveries", "Mine", "status:failed")
    view = the_id(installed)
    for action in ("", f"/{view}/edit", f"/{view}/delete"):
        fields = {"of": "deliveries", "whose": "own", "name": "Forged", "question": "status:failed"}
        answer = reader.ask("POST", f"/views{action}", fields, **headers)
        assert answer.status_code in (303, 403)
        assert answer.status_code == 403 or "refused=" in answer.headers["location"]
    assert kept(installed) == [("deliveries", "ann@corp.example", "Mine", "status:failed")]


def test_a_form_that_is_sent_twice_keeps_one_view(reader: Browser, installed: str) -> None:
    key = hidden(reader, "/deliveries?q=status:failed")["key"]
    first, second = (keep(reader, "deliveries", "Once", "status:failed", key=key) for _ in range(2))
    assert str(first.url) == str(second.url)
    assert len(kept(installed)) == 1


def test_what_cannot_be_kept_comes_back_with_the_reason_and_what_was_typed(reader: Browser, installed: str) -> None:
    here = {"Referer": f"{reader.client.base_url}ui/deliveries?status=failed"}
    for question, said in (("statsu:failed", "There is no key statsu"), ("e" * (MOST_CHARACTERS + 1), "Write at most")):
        fields = {"of": "deliveries", "name": "Typed", "question": question}
        answer = reader.post("/views", fields, **OWN, **here)
        assert answer.status_code == 422
        assert said in answer.text
        assert urlsplit(str(answer.url)).path.endswith("/ui/deliveries")
        assert '<details class="keep" open>' in answer.text
        assert 'value="Typed"' in answer.text
    assert reader.post("/views", {"of": "deliveries", "name": "x", "question": "e" * 300_000}).status_code == 413
    assert kept(installed) == []


def test_hostile_names_and_many_views_are_texts_and_fit_a_page(writer: Browser, installed: str) -> None:
    for number, text in enumerate(HOSTILE):
        name = text[:LONGEST_NAME].strip()
        page = keep(writer, "deliveries", name, f"event:{number}", **({"whose": "team"} if number % 2 else {}))
        assert page.status_code == 200
        assert_strict(page.text)
    assert len(kept(installed)) == len(HOSTILE)
    for view, name in rows(installed, "select id::text, name from svc.console_views"):
        for address in ("/views", f"/views/{view}/edit", "/deliveries", "/search/suggestions?q=e"):
            page = writer.get(address)
            assert_strict(page.text)
            assert "<script>alert" not in page.text
            assert "<img" not in page.text.replace('<img src="/.well-known', "")
        assert f'title="{name}' not in page.text
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("delete from svc.console_views")
        for owner in (None, "ann@corp.example"):
            conn.execute(
                "select svc.console_add_view(gen_random_uuid(), 'deliveries', %s, repeat('é', 55) || n,"
                " 'event:' || repeat('é', 1990) || n) from generate_series(1, %s) n",
                [owner, MOST_OF_ONE],
            )
    page = writer.get("/deliveries?event=" + "é" * 1990)
    assert len(chips(page)) == 2 * MOST_OF_ONE
    assert len(page.content) < 250 * 1024
    assert len(writer.get("/views").content) < 250 * 1024
    refused = keep(writer, "deliveries", "One more", "status:failed")
    assert (refused.status_code, "You may have 50 views" in refused.text) == (409, True)


def test_a_view_that_reads_no_longer_is_shown_with_its_problem(reader: Browser, installed: str) -> None:
    keep(reader, "deliveries", "Old", "status:failed")
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("update svc.console_views set question = 'gone:7'")
    view = the_id(installed)
    assert "Cannot be read" in reader.get("/deliveries").text
    assert "There is no key gone" in reader.get("/views").text
    opened = reader.get(f"/views/{view}")
    assert opened.status_code == 422
    assert "There is no key gone" in opened.text
    assert in_bar(opened) == "gone:7"
    page = reader.get(f"/views/{view}/edit")
    assert page.status_code == 200
    assert "Its question can be read no longer" in page.text
    fields = {"whose": "own", "was": "gone:7", "name": "Older", "question": "gone:7"}
    assert reader.post(f"/views/{view}/edit", fields).status_code == 422  # it opens the list, which says why
    assert kept(installed)[0][2:] == ("Older", "gone:7")


def test_a_refused_name_takes_back_no_question_that_somebody_else_gave(reader: Browser, installed: str) -> None:
    keep(reader, "deliveries", "Failed", "status:failed")
    at = f"/views/{the_id(installed)}/edit"
    fields = {"whose": "own", "was": "status:failed", "question": "status:failed", "seen": hidden(reader, at)["seen"]}
    reader.post(at, fields | {"name": "Failed", "question": "status:pending"})
    refused = reader.post(at, fields | {"name": "Renamed"})
    assert refused.status_code == 412
    shown = re.findall(r'name="(?:name|question)"[^>]* value="([^"]*)"', refused.text)
    assert shown == ["Renamed", "status:pending"], "what was not typed is as it is now"


def test_activity_shows_the_beginnings_of_long_questions(client: httpx.Client, installed: str) -> None:
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("delete from svc.console_views")
        conn.execute("select svc.console_add_view(gen_random_uuid(), 'deliveries', null, 'Long', 'event:x')")
        for number in range(50):
            question = f"event:{number}" + "😀" * 1990
            conn.execute("select svc.console_change_view(id, null, null, %s) from svc.console_views", [question])
    admin = signed_in(client, "admin")
    for page in ("/activity", "/overview"):
        assert len(admin.get(page).content) < 250 * 1024
    assert "Long: event:" in admin.get("/activity").text


def test_a_search_without_scripts_finds_views_by_name(reader: Browser, installed: str) -> None:
    keep(reader, "deliveries", "Nightly failures", "status:failed")
    opened = reader.get("/search?q=NIGHTLY")
    assert in_bar(opened) == "status:failed", "the only finding is opened"
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("update svc.console_views set owner = 'rita@corp.example'")
    assert "Nothing has this name" in reader.get("/search?q=nightly").text
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute(
            "select svc.console_add_view(gen_random_uuid(), 'audit', null, 'Nightly ' || n, 'actor:mara')"
            " from generate_series(1, 9) n"
        )
    page = reader.get("/search?q=nightly")
    assert_strict(page.text)
    assert page.text.count("</svg>View</span>") == 8
    assert "More views have these letters" in page.text


def test_lists_stay_when_the_views_cannot_be_read(reader: Browser, installed: str) -> None:
    keep(reader, "deliveries", "Mine", "status:failed")
    with psycopg.connect(installed, autocommit=True) as conn:
        conn.execute("alter table svc.console_views rename to console_gone")
        try:
            page = reader.get("/deliveries?status=failed")
            found = reader.get("/search?q=order.paid")
        finally:
            conn.execute("alter table svc.console_gone rename to console_views")
    assert page.status_code == 200
    assert found.status_code == 200
    assert chips(page) == []
    assert "Keep this question" not in page.text


def test_the_page_of_views_finds_by_list_and_name(reader: Browser) -> None:
    for of, (question, _) in QUESTIONS.items():
        keep(reader, of, f"Of {of}", question)
    assert all(f"Of {of}" in reader.get("/views").text for of in LISTS)
    page = reader.get("/views?of=audit")
    assert ("Of audit" in page.text, "Of messages" in page.text) == (True, False)
    page = reader.get("/views?text=MESS")
    assert ("Of audit" in page.text, "Of messages" in page.text) == (False, True)
    assert "No view matches" in reader.get("/views?text=nothing").text
    assert reader.get("/views?of=tenants").status_code == 422
    assert "view" in reader.get("/search/suggestions?q=Of+mess").text


@pytest.mark.parametrize("question", ["actor:mara yesterday", "since:yesterday", "today"])
def test_a_view_of_the_bars_question_keeps_the_word_for_a_day(reader: Browser, installed: str, question: str) -> None:
    """So opening it tomorrow asks for the day of tomorrow."""
    while True:  # once more if midnight passes meanwhile
        today = datetime.now(UTC).date()
        asked = reader.get(f"/audit?q={quote(question)}")
        if datetime.now(UTC).date() == today:
            break
    since = today if question == "today" else today - timedelta(days=1)
    assert parse_qs(urlsplit(str(asked.url)).query)["since"] == [since.isoformat()]
    assert in_bar(asked) == question
    keep(reader, "audit", "Mine", in_bar(asked))
    assert kept(installed)[0][3] == question
    moved = str(asked.url).partition("/ui")[2].replace(since.isoformat(), "2026-01-05")
    assert "2026-01-05" in in_bar(reader.get(moved)), "an address means the same on every day"
