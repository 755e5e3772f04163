import pytest

from svc_pg.console.transport.cors import (
    EXPOSED_HEADERS,
    PREFLIGHT_HEADERS,
    allowed_origins,
    origin_headers,
    preflight_headers,
)
from svc_pg.errors import ConfigError
from svc_pg.settings import Settings

CONSOLE = "https://console.example"


@pytest.mark.parametrize(
    "origin",
    [CONSOLE, "http://localhost:5173", "http://127.0.0.1:8000", "http://[::1]:8000", "https://xn--bcher-kva.example"],
)
def test_an_exact_origin_is_accepted(origin: str) -> None:
    assert Settings.load(console_allowed_origins=[origin]).console_allowed_origins == (origin,)


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "null",
        "",
        "console.example",
        "https://",
        "https://console.example/",
        "https://console.example/path",
        "https://console.example?query",
        "https://*.example",
        "https://Console.example",
        "HTTPS://console.example",
        "https://console.example:443",
        "http://console.example:80",
        "https://console.example:",
        "https://console.example:0443",
        "https://user@console.example",
        "https://bücher.example",
        "https://console.example\n",
        "https://console.example https://b.example",
        "file:///tmp",
    ],
)
def test_what_no_browser_sends_as_an_origin_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"SVC_CONSOLE_ALLOWED_ORIGINS\[1\]: .* is not an origin"):
        Settings.load(console_allowed_origins=[CONSOLE, text])


def test_every_wrong_origin_is_named() -> None:
    with pytest.raises(ConfigError) as refusal:
        Settings.load(console_allowed_origins=["*", CONSOLE, "null"])
    wrong = [line for line in refusal.value.message.splitlines() if line.startswith("SVC_CONSOLE_ALLOWED_ORIGINS")]
    assert [line.partition(": ")[0] for line in wrong] == [f"SVC_CONSOLE_ALLOWED_ORIGINS[{place}]" for place in (0, 2)]


@pytest.mark.parametrize(
    ("page", "origin"),
    [
        ("https://console.example/sign-in", CONSOLE),
        ("https://Console.example:443", CONSOLE),
        ("http://localhost:5173/", "http://localhost:5173"),
        ("http://127.0.0.1:80/console", "http://127.0.0.1"),
    ],
)
def test_unless_told_the_front_end_alone_is_allowed(page: str, origin: str) -> None:
    assert allowed_origins(Settings.load(console_public_url=page)) == {origin}
    assert allowed_origins(Settings.load(console_public_url=page, console_allowed_origins=[])) == frozenset()
    told = Settings.load(console_public_url=page, console_allowed_origins=["https://other.example"])
    assert allowed_origins(told) == {"https://other.example"}


def test_without_a_front_end_no_origin_is_allowed() -> None:
    assert allowed_origins(Settings.load()) == frozenset()


def test_only_an_allowed_origin_may_read() -> None:
    assert origin_headers(CONSOLE, {CONSOLE}) == {
        "Access-Control-Allow-Origin": CONSOLE,
        "Access-Control-Expose-Headers": EXPOSED_HEADERS,
    }
    for other in (None, "null", "https://evil.example", CONSOLE + ".evil.example", CONSOLE.upper()):
        assert origin_headers(other, {CONSOLE}) == {}


def test_a_preflight_of_another_origin_learns_nothing() -> None:
    assert preflight_headers(CONSOLE, {CONSOLE}) == preflight_headers(None, {CONSOLE}) == PREFLIGHT_HEADERS
    assert preflight_headers("https://evil.example", {CONSOLE}) == {}


def test_a_preflight_allows_the_further_headers_that_it_asks_for() -> None:
    def allowed(asked: str) -> str:
        return preflight_headers(CONSOLE, {CONSOLE}, asked=asked)["Access-Control-Allow-Headers"]

    assert allowed("authorization, x-other") == "Content-Type, Authorization"
    assert allowed("If-Match") == "Content-Type, Authorization, If-Match"
    assert allowed("idempotency-key,if-match") == "Content-Type, Authorization, If-Match, Idempotency-Key"
