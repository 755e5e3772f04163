"""A browser without scripts: it keeps cookies by their attributes, and sends the origin of requests."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urljoin, urlsplit

import httpx

from svc_pg.settings import Permission
from tests.integration.console.serving import bearer
from tests.integration.console.signing_in import Mailbox

UI = "/ui"
OWN: Mapping[str, str] = {"Sec-Fetch-Site": "same-origin"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


HOSTILE = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "{{7*7}}{% raw %}",
    "javascript:alert(1)",
    "\u202egnp.exe\u2069 שלום",
    "😀" * 30,
    "../../x?y=z#&amp;%2f",
)
"""Hostile stored texts, which must stay texts on every page."""


class Browser:
    """One browser, for the console of ``client``. Addresses are relative to ``/ui``."""

    def __init__(self, client: httpx.Client, **headers: str) -> None:
        self.client = client
        self.headers = headers
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []
        """The Set-Cookie headers of the last answer."""

    def get(self, address: str, /, **headers: str) -> httpx.Response:
        """The page at an address, after up to eight redirects."""
        return self._followed(self.ask("GET", address, **{**OWN, **headers}))

    def post(
        self, address: str, fields: Mapping[str, str | list[str]] | None = None, /, **headers: str
    ) -> httpx.Response:
        """Send a form of one of the console's own pages, and return the next page."""
        return self._followed(self.ask("POST", address, fields, **{**OWN, **headers}))

    def ask(
        self, method: str, address: str, fields: Mapping[str, str | list[str]] | None = None, /, **headers: str
    ) -> httpx.Response:
        """One request, without following redirects."""
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        sent = {**self.headers, **(cookies if self.cookies else {}), **headers}
        url = address if address.startswith("/.") else f"{self.client.base_url.path.rstrip('/')}{UI}{address}"
        form = dict(fields or {}) if method == "POST" and "Content-Type" not in headers else None
        answer = self.client.request(method, urljoin(str(self.client.base_url), url), headers=sent, data=form)
        self.client.cookies.clear()  # each browser has its own
        assert answer.headers["content-security-policy"] == POLICY, "each answer below /ui has the policy"
        self.set_cookies = answer.headers.get_list("set-cookie")
        for header in self.set_cookies:
            for name, morsel in SimpleCookie(header).items():
                if morsel["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value
        return answer

    def _followed(self, answer: httpx.Response) -> httpx.Response:
        for _ in range(8):
            if answer.status_code != 303:
                return answer
            target = urlsplit(answer.headers["location"])
            assert (target.scheme, target.netloc) == ("", ""), "the console leads to its own pages only"
            answer = self.ask("GET", answer.headers["location"], **OWN)
        raise AssertionError(f"{answer.url} leads round and round")


def sign_in_page(browser: Browser, mailbox: Mailbox, email: str) -> httpx.Response:
    """Sign in on the pages, and return the next page."""
    asked = browser.post("/sign-in", {"email": email})
    assert "Enter the code" in asked.text
    return browser.post("/sign-in/code", {"code": mailbox.code(email)})


def signed_in(client: httpx.Client, *permissions: Permission) -> Browser:
    """A browser with an auto-approved session with these permissions."""
    browser = Browser(client)
    browser.cookies["svc_console"] = token(*permissions)
    return browser


def token(*permissions: Permission, lifetime: timedelta = timedelta(minutes=5)) -> str:
    return bearer(*permissions, lifetime=lifetime)["Authorization"].removeprefix("Bearer ")


def hidden(browser: Browser, address: str) -> dict[str, str]:
    """The hidden fields of the forms at an address."""
    found = re.findall(r'<input type="hidden" name="([\w.]+)" value="([^"]*)">', browser.get(address).text)
    return {name: unescape(value) for name, value in found}


def shown_secret(page: httpx.Response) -> str:
    """The secret, the token or the link that a page shows."""
    [secret] = re.findall(r"<textarea[^>]* readonly[^>]*>([^<]+)</textarea>", page.text)
    return str(secret)


class Document(HTMLParser):
    """The tags of a page, each with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def values(self, attribute: str) -> Iterator[str]:
        """The values of an attribute, on any tag."""
        return (
            value for _, attributes in self.tags for name, value in attributes.items() if name == attribute and value
        )


def assert_strict(text: str) -> None:
    """Assert that a page needs no more than the strict policy allows."""
    for tag, attributes in Document(text).tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert tag != "style"
        assert tag != "script" or attributes.get("src")
    assert not re.search(r"""(?:href|src|action)=["']?\s*(?:javascript|data|https?):""", text, re.IGNORECASE)
