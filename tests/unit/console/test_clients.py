import pytest
from starlette.datastructures import Headers, QueryParams

from svc_pg.console.http.requests import ConsoleRequest
from svc_pg.console.transport.client_addresses import browser, client_address, is_loopback, user_agent
from svc_pg.settings import Settings

PROXIES = Settings.load(console_trusted_proxies=["10.0.0.0/8", "fd00::/8", "127.0.0.1"]).console_trusted_proxies


def headers(*x_forwarded_for: str, **others: str) -> Headers:
    raw = [(b"x-forwarded-for", value.encode("latin-1")) for value in x_forwarded_for]
    raw += [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in others.items()]
    return Headers(raw=raw)


def request(client: str | None, *x_forwarded_for: str, **others: str) -> ConsoleRequest:
    return ConsoleRequest(
        method="GET",
        path="/",
        headers=headers(*x_forwarded_for, **others),
        query=QueryParams(),
        request_id="r",
        client=client,
    )


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.1", [], "203.0.113.1"),
        ("203.0.113.1", ["198.51.100.1"], "203.0.113.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4, 198.51.100.1, 10.9.9.9"], "198.51.100.1"),
        ("10.0.0.1", ["1.2.3.4", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
        ("10.0.0.1", ["198.51.100.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["nonsense, 10.2.2.2"], "10.2.2.2"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:443"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:443, 10.9.9.9:80"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("10.0.0.1", ["[2001:db8::1]"], "2001:db8::1"),
        ("10.0.0.1", ["198.51.100.1:"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1:x"], "10.0.0.1"),
        ("10.0.0.1", ["[198.51.100.1]:443"], "10.0.0.1"),
        ("10.0.0.1", ["2001:db8::1]:443"], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("fd00::1", ["2001:db8::1"], "2001:db8::1"),
        ("fe80::1%eth0", [], "fe80::1"),
        (None, ["198.51.100.1"], None),
        ("", ["198.51.100.1"], None),
        ("testclient", ["198.51.100.1"], None),
    ],
)
def test_a_client_is_the_last_address_that_a_trusted_proxy_saw(
    peer: str | None, forwarded: list[str], address: str | None
) -> None:
    assert client_address(peer, headers(*forwarded), PROXIES) == address


def test_nobody_is_believed_where_no_proxy_is_trusted() -> None:
    assert client_address("127.0.0.1", headers("198.51.100.1"), []) == "127.0.0.1"


@pytest.mark.parametrize("client", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_loopback(client: str) -> None:
    assert is_loopback(request(client))
    assert is_loopback(request(client, "127.0.0.1, ::1"))


@pytest.mark.parametrize(
    ("client", "forwarded"),
    [
        (None, []),
        ("198.51.100.1", []),
        ("0.0.0.0", []),
        ("127.0.0.1", ["198.51.100.1"]),
        ("127.0.0.1", ["127.0.0.1, 198.51.100.1"]),
        ("127.0.0.1", ["127.0.0.1", "198.51.100.1"]),
        ("127.0.0.1", ["unknown"]),
        ("127.0.0.1", [""]),
    ],
)
def test_what_came_from_elsewhere_is_not_loopback_even_through_a_proxy_on_this_machine(
    client: str | None, forwarded: list[str]
) -> None:
    assert not is_loopback(request(client, *forwarded))


@pytest.mark.parametrize("here", ["for=127.0.0.1", 'For="[::1]:4711";proto=http', "for=127.0.0.1, for=127.0.0.1:80"])
def test_forwarded_may_name_this_machine(here: str) -> None:
    assert is_loopback(request("127.0.0.1", forwarded=here))
    assert is_loopback(request("127.0.0.1", x_real_ip="::1"))


@pytest.mark.parametrize(
    "elsewhere",
    [
        "for=198.51.100.1",
        'proto=https;for="198.51.100.1:4711"',
        'for="[2001:db8::1]"',
        "for=127.0.0.1, for=198.51.100.1",
        "for=unknown",
        "for=_hidden",
        "by=127.0.0.1;proto=http",
        'for="127.0.0.1, for=198.51.100.1"',
        "",
    ],
)
def test_forwarded_may_name_another_machine_or_hide_it(elsewhere: str) -> None:
    assert not is_loopback(request("127.0.0.1", forwarded=elsewhere))
    assert not is_loopback(request("127.0.0.1", x_real_ip="198.51.100.1"))


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Chrome on Windows"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "Safari on macOS"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5.0", "curl"),
        ("Call +1 555 0100 to keep your account", "an unknown program"),
        (None, "an unknown program"),
    ],
)
def test_a_browser_is_told_in_our_words(agent: str | None, words: str) -> None:
    assert browser(agent) == words


def test_what_a_client_calls_itself_is_shortened_and_printable() -> None:
    assert user_agent(request(None, user_agent="a\x07b\x00c" + "x" * 1000)) == "abc" + "x" * 253
    assert user_agent(request(None)) is None
    assert user_agent(request(None, user_agent="")) is None
