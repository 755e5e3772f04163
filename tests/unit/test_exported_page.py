import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from cli.demo.export.page import CopiedPage, icons
from cli.demo.export.walk import links

AT = datetime(2026, 3, 12, 14, 32, 8, tzinfo=UTC)
HERE = "/svc/ui/audit"
FILES = {"/svc/ui/audit": "audit.html", "/svc/ui/audit?since=1h": "audit-since-1h.html"}


def made(html: str) -> str:
    return CopiedPage(FILES.get, at=AT).made(html, HERE)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="/svc/ui/audit?since=1h#rows" data-key="a">A</a>', '<a href="audit-since-1h.html#rows">A</a>'),
        ('<a href="?since=1h">A</a>', '<a href="audit-since-1h.html">A</a>'),
        ('<a href="#main">A</a>', '<a href="#main">A</a>'),
        ('<a href="/svc/ui/audit/export" download>A</a>', '<a href="read-only.html">A</a>'),
        ('<a href="https://elsewhere.example/" target="_blank">A</a>', '<a href="read-only.html">A</a>'),
        ('<a href="javascript:alert(1)">A</a>', '<a href="read-only.html">A</a>'),
        ('<a href="#keys" data-open="#keys">Keyboard</a>', ""),
        ("<a>A &amp; B &#60; C</a>", "<a>A &amp; B &#60; C</a>"),
        (
            '<form method="post" action="/x"><input type="hidden" name="key" value="k"><button>Go</button></form>',
            '<form action="read-only.html"><button>Go</button></form>',
        ),
        (
            '<form class="f"><button name="do" value="1" formaction="/x" formmethod="post">Go</button></form>',
            '<form class="f" action="read-only.html"><button value="1">Go</button></form>',
        ),
        ('<input name="url" required value="a&quot;b">', '<input value="a&quot;b">'),
        ('<form class="foot theme"><form></form><b>x</b></form><i>y</i>', "<i>y</i>"),
        ('<script type="module" src="/svc/ui/static/console.js"></script><b>y</b>', "<b>y</b>"),
        ("<script>if (a < b) '<main>'</script><b>y</b>", "<b>y</b>"),
        ('<meta http-equiv="refresh" content="0; url=/x">', ""),
        ('<link rel="icon" href="/svc/ui/static/logo.svg?v=6e">', '<link rel="icon" href="logo.svg">'),
        ('<textarea name="t">&lt;a&gt;</textarea>', "<textarea>&lt;a&gt;</textarea>"),
        ('<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>', '<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>'),
        ('<symbol id="by-0"></symbol><use href="#by-0"/>', '<symbol id="by-0"></symbol><use href="#by-0"/>'),
        ('<p class="foot"><span>Request 0123456789abcdef0123456789abcdef</span></p>', '<p class="foot"></p>'),
    ],
)
def test_what_needs_a_server_or_a_script_leads_to_a_file_or_goes(html: str, expected: str) -> None:
    assert made(html) == expected


def test_a_page_has_a_policy_a_note_and_the_icons_that_it_uses() -> None:
    page = made(
        '<head><meta charset="utf-8"></head><body><main id="main">'
        '<svg class="i"><use href="/svc/ui/static/icons.svg?v=1#ok"/></svg></main></body>'
    )
    assert "default-src 'none'; style-src 'self'; img-src 'self';" in page
    assert "12 Mar 2026, 14:32:08 UTC" in page.partition('<main id="main">')[2]
    assert '<use href="#icon-ok"/>' in page

    assert re.findall(r'id="(icon-[\w-]+)"', page) == ["icon-ok"]
    assert icons()["ok"] in page


class Texts(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags = list[str]()
        self.text = ""
        self.titles = list[str | None]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append(tag)
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r")))
def test_texts_of_others_stay_texts(text: str) -> None:
    read = Texts(made(f'<p><a href="/svc/ui/audit" title="{escape(text)}">{escape(text)}</a></p>'))
    assert (read.tags, read.text, read.titles) == (["p", "a"], text, [text])


def test_links_are_those_of_pages() -> None:
    html = '<a href="?a=1&amp;b=2#c"></a><a href="x" download></a><a href="/y">y</a><a href="#z"></a>'
    assert list(links(html, HERE)) == [f"{HERE}?a=1&b=2", "/y", HERE]
