"""Pages of the audit log show how values and actors differ that look the same."""

import re
from collections.abc import Iterator
from html import unescape

import httpx
import psycopg
import pytest

from svc_pg import Config, audit
from svc_pg.console import Console
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.isolation import unisolated
from tests.support.postgres import new_database
from tests.support.tables import add_entry

BEFORE = {
    "mail": "ann@x.example",
    "name": "Ann  Lund ",
    "note": "a\r\nb",
    "tel": None,
    "size": 1,
    "nick": "",
    "u": "\u00fc",
}
AFTER = {
    "mail": "\u0430nn@x.example",
    "name": "Ann Lund",
    "note": "a\nb",
    "tel": "not set",
    "size": "1",
    "u": "u\u0308",
}
ACTORS = ("ann@corp.example", "\u0430nn@corp.example", "\u0645\u0631 5")


@pytest.fixture(scope="module")
def reader(postgres: str, template: str) -> Iterator[Browser]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            for actor in ACTORS:
                with conn.transaction(), audit.actor(conn, actor):
                    add_entry(
                        conn, "crm.contact", "UPDATE", record_id="7", before=BEFORE, after={**AFTER, "nick": None}
                    )
        with serving_installed(Console(settings(database_url=conninfo), config=Config())) as client:
            yield signed_in(client, "read")


def seen(html: str) -> str:
    """The words of HTML, with the marks in place of characters that nobody sees."""
    return re.sub("<[^>]*>", " ", re.sub(r'<i class="inv"[^>]*data-mark="([^"]*)">[^<]*</i>', r" \1 ", html))


def fields(page: httpx.Response) -> dict[str, str]:
    """The words of each field's row of the first difference of a page, and of the note below it."""
    table = page.text.partition('class="diff"')[2].partition("</table>")[0]
    rows = re.split(r'<th scope="row"><bdi>', table)[1:]
    return {row.partition("<")[0]: " ".join(unescape(seen(row)).split()) for row in rows}


def test_the_difference_of_values_that_look_the_same_is_shown(reader: Browser) -> None:
    page = reader.get("/audit/records/crm.contact/7")
    assert_strict(page.text)
    assert unisolated(page.text) == []
    shown = fields(page)
    assert "after has U+0430 CYRILLIC SMALL LETTER A" in shown["mail"]
    assert shown["name"].startswith("name Ann ␣ Lund ␣ Ann Lund These look alike: before has U+0020 SPACE")
    assert shown["note"].startswith("note a CR ↵ b a ↵ b These look alike: before has U+000D CARRIAGE RETURN")
    assert shown["tel"] == 'tel not set "not set"'
    assert shown["size"] == 'size 1 number " 1 " text Before is a number, after is a text'
    assert shown["nick"] == "nick empty not set"
    assert "after has U+0075 LATIN SMALL LETTER U, U+0308 COMBINING DIAERESIS" in shown["u"]
    assert '<span class="nil">not set</span>' in page.text


def test_actors_that_look_like_each_other_have_a_mark_in_lists(reader: Browser) -> None:
    for path in ("/audit?resource=crm.contact", "/audit/records/crm.contact/7", "/search?q=corp.ex"):
        page = reader.get(path)
        marks = re.findall(r'</bdi> <span class="wait" role="img" aria-label="([^"]*)"', page.text)
        assert {mark.partition(":")[0].partition(",")[0] for mark in marks} == {
            "Letters of several scripts in one word",
            "It looks like another name here",
        }, path
        assert unisolated(page.text) == []
