"""Pages show the names of the application's users in place of their ids, and lead to where these sign in."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from threading import Event
from typing import Any

import anyio
import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console, Session
from svc_pg.console.sessions import host_users
from svc_pg.formats.look_alikes import MIXED
from tests.integration.console.browsing import HOSTILE, Browser, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.integration.console.signing_in import Mailbox, magic_settings
from tests.support.postgres import new_database
from tests.support.tables import add_entry

NAMES = {"7": "mara (7)", "8": "\u0430nn (8)", **{f"h{number}": text for number, text in enumerate(HOSTILE)}}
UNNAMED = '"><b>nobody</b>'
UNTOLD = "The application does not tell the names of actors now"
PAGES = ("/audit", "/audit?view=rows", "/audit/records/crm.contact/7")


@pytest.fixture(scope="module")
def conninfo(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            for actor in (*NAMES, UNNAMED):
                with conn.transaction(), audit.actor(conn, actor, tenant="acme"):
                    add_entry(conn, "crm.contact", "UPDATE", record_id="7", before={"a": 1}, after={"a": 2})
            add_entry(conn, "crm.contact", "UPDATE", record_id="7", before={"a": 1}, after={"a": 2})
        yield conninfo


class Application:
    """Knows the names of its users, and notes which it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def actor_names(self, actors: Collection[str]) -> Mapping[str, str]:
        self.asked.append([*actors])
        return NAMES

    def __call__(self, request: Any) -> Session | None:
        tenant = request.cookies.get("tenant")
        ends_at = datetime.now(UTC) + timedelta(minutes=1)
        return tenant and Session("theirs", "bob@shop.example", ("read",), ends_at, tenant=tenant)

    def sign_in_url(self, back: str) -> str:
        return f"/login/?next={back}"


@contextmanager
def served(conninfo: str, **options: Any) -> Iterator[httpx.Client]:
    with serving_installed(Console(settings(database_url=conninfo), config=Config(), **options)) as client:
        yield client


def actors_on(page: httpx.Response) -> set[str]:
    return {
        unescape(re.sub("<[^>]*>", "", text)) for text in re.findall(r"<bdi[^>]*>(.*?)</bdi>", page.text, re.DOTALL)
    }


def test_each_page_asks_once_and_shows_the_names_as_texts(conninfo: str) -> None:
    application = Application()
    with served(conninfo, session_of=application) as client:
        reader = signed_in(client, "read")
        for address in PAGES:
            application.asked.clear()
            page = reader.get(address)
            assert_strict(page.text)
            assert "data-actor" not in page.text
            [asked] = application.asked
            assert {*asked} == {*NAMES, UNNAMED}, address
            assert "mara (7)" in actors_on(page)
            assert UNNAMED in actors_on(page), "an actor without a name keeps the id"
            assert MIXED in page.text, "a name may look like another"
        page = reader.get("/audit?view=rows&actor=7")
        assert {"mara (7)"} <= actors_on(page), "filters go by the id"
        assert "mara%20(7)" not in page.text


def test_a_session_of_one_tenant_is_told_no_names(conninfo: str) -> None:
    application = Application()
    with served(conninfo, session_of=application) as client:
        browser = Browser(client)
        browser.cookies["tenant"] = "acme"
        page = browser.get("/audit?view=rows")
        assert page.status_code == 200
        assert "7" in actors_on(page)
        assert "mara (7)" not in page.text
    assert application.asked == []


def test_names_that_are_late_broken_or_of_another_kind_leave_the_ids(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "NAMES_SECONDS", 0.2)
    ended = Event()

    def late(_actors: Collection[str]) -> Mapping[str, str]:
        ended.wait(30)
        return NAMES

    def broken(_actors: Collection[str]) -> Mapping[str, str]:
        raise RuntimeError

    async def other(_actors: Collection[str]) -> Any:
        return {"7": None, "8": "  ", UNNAMED: "Nora"}

    def nothing(_actors: Collection[str]) -> Any:
        return None

    def ids(actors: Collection[str]) -> Any:
        return [*actors]

    try:
        for names in (late, broken, other, nothing, ids):
            with served(conninfo, actor_names=names) as client:
                page = signed_in(client, "read").get("/audit?view=rows")
                assert page.status_code == 200
                assert {"7", "8"} <= {text.strip() for text in actors_on(page)}
                assert ("Nora" in page.text) == (names is other)
                assert page.text.count(UNTOLD) == (names is not other), "the page says it once"
    finally:
        ended.set()


def test_a_function_that_never_returns_has_a_few_threads_however_often_it_is_asked(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "NAMES_SECONDS", 0.05)
    monkeypatch.setattr(host_users, "REST_SECONDS", 0)
    ended, calls = Event(), []

    def hanging(actors: Collection[str]) -> Mapping[str, str]:
        calls.append(actors)
        ended.wait(60)
        return NAMES

    try:
        with served(conninfo, actor_names=hanging) as client:
            reader = signed_in(client, "read")
            for _ in range(2 * host_users.THREADS):
                assert "7" in actors_on(reader.get("/audit?view=rows"))
            assert len(calls) == host_users.THREADS
    finally:
        ended.set()


def test_a_function_that_was_late_is_not_waited_for_and_is_asked_again_after_a_rest(
    conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_users, "NAMES_SECONDS", 0.2)
    times, calls, is_late = [100.0], [], [True]
    monkeypatch.setattr(host_users, "monotonic", lambda: times[-1])

    async def names(actors: Collection[str]) -> Mapping[str, str]:
        calls.append(actors)
        if is_late[-1]:
            await anyio.sleep_forever()
        return NAMES

    with served(conninfo, actor_names=names) as client:
        reader = signed_in(client, "read")
        for address in (*PAGES, *PAGES):
            page = reader.get(address)
            assert "7" in actors_on(page)
            assert page.text.count(UNTOLD) == 1
        assert len(calls) == 1, "the others did not wait"
        times.append(times[-1] + host_users.REST_SECONDS)
        assert UNTOLD in reader.get(PAGES[0]).text
        assert UNTOLD in reader.get(PAGES[0]).text
        assert len(calls) == 2, "one page in each rest asks"
        times.append(times[-1] + host_users.REST_SECONDS)
        is_late.append(False)
        for _ in range(2):
            page = reader.get(PAGES[0])
            assert "mara (7)" in actors_on(page)
            assert UNTOLD not in page.text
        assert len(calls) == 4, "one that answers is asked by each page"
        assert UNTOLD not in reader.get("/audit?actor=nobody").text, "a page without actors lacks no names"


def test_equal_and_look_alike_names_stand_with_their_ids(conninfo: str) -> None:
    names = {
        "7": "Nora",
        "8": "Nora",
        "h0": "N\u043era",
        "h1": "h2",
        "h3": "alone",
        "h5": "Nora (7)",
        "h4": "\u0430\u006e" * 5_000,
    }
    with served(conninfo, actor_names=lambda _actors: names) as client:
        page = signed_in(client, "read").get("/audit?view=rows")
    shown = {" ".join(text.split()) for text in actors_on(page)}
    assert {"Nora (7)", "Nora (8)", "N\u043era (h0)", "alone"} <= shown
    assert "h2" in shown, "the actor whom nobody names"
    assert "h2 (h1)" in shown, "the name that is the id of another one"
    assert "Nora (7) (h5)" in shown, "the name that is another one's with its id"
    assert max(map(len, shown)) <= max(host_users.NAME_CHARACTERS, *map(len, HOSTILE))


def test_no_more_names_are_asked_for_than_the_bound(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_users, "MAX_NAMED", 3)
    application = Application()
    with served(conninfo, actor_names=application.actor_names) as client:
        assert signed_in(client, "read").get("/audit?view=rows").status_code == 200
    assert [len(asked) for asked in application.asked] == [3]


def test_the_page_sign_in_leads_to_where_the_users_of_the_application_sign_in(conninfo: str) -> None:
    application = Application()
    both = magic_settings(conninfo, console_allowed_emails={"ann@corp.example": "read"})
    with serving_installed(Console(both, session_of=application, email_sender=Mailbox())) as client:
        page = Browser(client).get("/audit?view=rows")
        assert_strict(page.text)
        [link] = re.findall(r'href="(/login/[^"]*)"', page.text)
        assert unescape(link) == "/login/?next=/.well-known/svc/ui/audit?view=rows"
        assert 'name="email"' in page.text, "the settings let somebody sign in here too"
        away = Browser(client).get("/sign-in?next=https://evil.example/")
        assert re.findall(r'href="(/login/[^"]*)"', away.text) == ["/login/?next=/.well-known/svc/ui"]
    for alone, sender in ((magic_settings(conninfo, console_allowed_emails={}), Mailbox()), (both, None)):
        with serving_installed(Console(alone, session_of=application, email_sender=sender)) as client:
            page = Browser(client).get("/audit")
        assert ("Sign in to the application" in page.text, 'name="email"' in page.text) == (True, False)
    with served(conninfo, sign_in_url=lambda _back: "javascript:alert(1)") as client:
        assert "Sign in to the application" not in Browser(client).get("/audit").text


def test_no_address_to_sign_in_breaks_the_page(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_users, "NAMES_SECONDS", 0.2)
    ended = Event()

    def broken(_back: str) -> str:
        raise RuntimeError

    def late(_back: str) -> str:
        ended.wait(60)
        return "/login/"

    def of_no_host(_back: str) -> str:
        return "http://[x"

    def bytes_of_it(_back: str) -> Any:
        return b"/login/"

    try:
        for sign_in_url in (broken, late, of_no_host, bytes_of_it):
            with served(conninfo, sign_in_url=sign_in_url) as client:
                page = Browser(client).get("/audit")
                assert (page.status_code, "Sign in to the application" in page.text) == (200, False)
    finally:
        ended.set()
