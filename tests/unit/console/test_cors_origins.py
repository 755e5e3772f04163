import pytest

from svc_pg.console.cors import PREFLIGHT_HEADERS, exact_origins, origin_headers, preflight_headers
from svc_pg.errors import ConfigError

CONSOLE = "https://console.example"


@pytest.mark.parametrize(
    "origin",
    [CONSOLE, "http://localhost:5173", "http://127.0.0.1:8000", "http://[::1]:8000", "https://xn--bcher-kva.example"],
)
def test_an_exact_origin_is_accepted(origin: str) -> None:
    assert exact_origins([origin]) == {origin}


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
    with pytest.raises(ConfigError, match="SVC_CONSOLE_ALLOWED_ORIGINS"):
        exact_origins([CONSOLE, text])


def test_every_wrong_origin_is_named() -> None:
    with pytest.raises(ConfigError) as refusal:
        exact_origins(["*", CONSOLE, "null"])
    assert refusal.value.message.endswith("'*', 'null'")


def test_only_an_allowed_origin_may_read() -> None:
    allowed = exact_origins([CONSOLE])
    assert origin_headers(CONSOLE, allowed) == {"Access-Control-Allow-Origin": CONSOLE}
    for other in (None, "null", "https://evil.example", CONSOLE + ".evil.example", CONSOLE.upper()):
        assert origin_headers(other, allowed) == {}


def test_a_preflight_of_another_origin_learns_nothing() -> None:
    allowed = exact_origins([CONSOLE])
    assert preflight_headers(CONSOLE, allowed) == preflight_headers(None, allowed) == PREFLIGHT_HEADERS
    assert preflight_headers("https://evil.example", allowed) == {}
