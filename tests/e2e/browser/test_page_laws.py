"""The laws of pages find a page that breaks them."""

from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.integration.console.serving import serving
from tests.support.page_laws import Inspection, broken_laws, keyboard_laws, watched

PAGE = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>{}</main></html>"
POLICY = "default-src 'none'; script-src 'self'"
BROKEN = {
    "<p>All is well.</p>": "",
    "<h1>Another</h1>": "2 headings",
    "<p>" + "W" * 300 + "</p>": "px the page is wider",
    "<a href='javascript:alert(1)'>x</a>": "an address that no browser should follow: javascript:",
    "<b hx-get=/x>x</b>": "planted",
    "<table><tr><th></th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>": "a column without a name",
    "<p id=a>1</p><p id=a>2</p>": "the id a is there twice",
    "<p aria-describedby=b>x</p>": "no element has the id b",
    "<img src=/picture>": "image-alt",
    "<p><font color='#eee'>faint</font></p>": "color-contrast",
    "<!--" + "x" * 2**20 + "-->": "bytes, and",
    "<script>alert('hi')</script>": "the console says",
    "<script src=/missing></script>": "404 for GET",
    "<img alt=x src=//elsewhere.invalid/x>": "a request to http://elsewhere.invalid/x",
}


def test_each_law_finds_what_breaks_it_and_nothing_in_a_good_page(browser: Browser) -> None:
    pages = list(BROKEN)

    async def show(request: Request) -> HTMLResponse:
        body = PAGE.format(pages[int(request.path_params["number"])])
        return HTMLResponse(body, headers={"Content-Security-Policy": POLICY})

    with serving(Starlette(routes=[Route("/{number:int}", show)])) as base_url:
        context = browser.new_context()
        with watched(context, base_url) as watch:
            page = context.new_page()
            found = {}
            for number, body in enumerate(pages):
                response = page.goto(f"{base_url}/{number}")
                assert response is not None
                found[body] = "\n".join(broken_laws(page, response.text()) + watch.take())
        context.close()
    for body, wanted in BROKEN.items():
        assert wanted in found[body] if wanted else found[body] == "", body


def test_what_only_a_template_can_break_is_looked_for_once_and_again_in_what_is_new(browser: Browser) -> None:
    page, inspection = browser.new_page(), Inspection()

    def broken(path: str, body: str) -> str:
        html = PAGE.format(body)
        page.set_content(html)
        return "\n".join(inspection.broken_laws(page, html, path))

    faint = "<p><font color='#eee'>faint</font></p>"
    for path in ("/a", "/b"):
        assert "color-contrast" in broken(path, faint)  # the first of a path
    assert broken("/a", faint.replace("faint", "more")) == ""
    assert "px the page is wider" in broken("/a", faint.replace("faint", "W" * 300))
    for new in ("<b>new</b>", "<p class=new>x</p>", "<p><font color='#eee'></font></p>", "<h3>new</h3>"):
        assert "color-contrast" in broken("/a", faint + new)
        assert broken("/a", faint + new) == ""
    no_focus = "<style>a {outline: none}</style><a href=/1>new</a>"
    assert "focus cannot be seen" in broken("/a", no_focus)
    page.close()


def test_of_what_repeats_in_a_page_three_are_looked_at_and_all_that_differs(browser: Browser) -> None:
    page = browser.new_page()

    def broken(body: str) -> list[str]:
        html = PAGE.format("<style>a:focus {outline: none}</style>" + body)
        page.set_content(html)
        return Inspection().broken_laws(page, html, "/a")

    rows = ["<p><a href=/1><font color='#eee'>faint</font></a></p>"] * 7
    found = broken("".join(rows))
    for look in ("at 1440 px, light", "at 360 px, dark"):
        assert sum(each.startswith(f"{look}: color-contrast") for each in found) == 3
    assert sum(each.startswith("focus cannot be seen") for each in found) == 3
    for other in ("<p class=b>", "<p><b></b>", "<p><a href=/2></a>"):
        rows[3] = rows[0].replace("<p>", other)
        found = broken("".join(rows))
        assert sum(each.startswith("at 1440 px, light: color-contrast") for each in found) == 4
        rows[3] = rows[0]
    rows[3] = f"<p><a href=/1><font color='#eee'>{'W' * 300}</font></a></p>"
    assert "px the page is wider" in "".join(broken("".join(rows)))
    page.close()


def test_a_theme_is_looked_at_for_colors_once_the_other_was_for_all(browser: Browser) -> None:
    page = browser.new_page()
    html = PAGE.format("<style>@media (prefers-color-scheme: dark) {b {color: #eee}}</style><b>faint</b><img src=/p>")
    page.set_content(html)
    found = sorted(each.split(": ")[:2] for each in broken_laws(page, html))
    assert [look for look, rule in found if rule == "color-contrast"] == ["at 1440 px, dark", "at 360 px, dark"]
    assert [look for look, rule in found if rule == "image-alt"] == ["at 1440 px, light", "at 360 px, dark"]
    page.close()


def test_a_control_that_no_key_reaches_and_one_that_shows_no_focus_are_found(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<a href=/1>one</a> <button>two</button> <input type=hidden> <button disabled>three</button>")
    assert keyboard_laws(page) == []
    page.set_content("<style>a {outline: none}</style><a href=/1>one</a><p inert><button>two</button></p>")
    assert [each.split()[0:3] for each in keyboard_laws(page)] == [["no", "key", "leads"], ["focus", "cannot", "be"]]
    page.close()


def test_a_dialog_is_noted(browser: Browser) -> None:
    context = browser.new_context()
    with watched(context, "about:blank") as watch:
        context.new_page().evaluate("() => alert('hi')")
        assert watch.take() == ["a dialog: hi"]
    context.close()
