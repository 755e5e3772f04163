"""The laws of pages find a page that breaks them."""

from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.integration.console.serving import serving
from tests.support.page_laws import broken_laws, keyboard_laws, watched

PAGE = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>{}</main></html>"
POLICY = "default-src 'none'; script-src 'self'"
BROKEN = {
    "<p>All is well.</p>": "",
    "<h1>Another</h1>": "2 headings",
    "<p>" + "W" * 300 + "</p>": "px the page is wider",
    "<a href='javascript:alert(1)'>x</a>": "an address that no browser should follow: javascript:",
    "<b hx-get=/x>x</b>": "planted",
    "<table><tr><th></th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>": "a column without a name",
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
