"""The guard: no spelling of a private address passes, neither as a URL nor as the address of a connection."""
# ruff: noqa: RUF001 # characters that look like others are what is tested

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg.config import WebhooksConfig
from svc_pg.errors import EndpointError
from svc_pg.webhooks.http.guard import BlockedAddress, Guard, check_custom_headers, check_header

STRICT = Guard(allow_http=True)
LENIENT = Guard((ip_network("127.0.0.0/8"), ip_network("fd00::/8")), allow_http=True)

PRIVATE_HOSTS = [
    *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.000.000.001", "0x7f.1", "0x7F.0.0.1", "0x7f000001"),
    *("0177.0.0.1", "017700000001", "2130706433", "0", "0.0.0.0", "0x0", "00", "127.255.255.255"),
    *("10.1.2.3", "10.1", "0xa.1", "167837955", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.257"),
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "100.64.0.1", "198.18.0.1", "224.0.0.1"),
    *("0300.0250.1", "255.255.255.255", "240.0.0.1", "192.88.99.1", "203.0.113.7"),
    *("１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①", "２１３０７０６４３３", "0𝗑7f.1"),
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "ｌｏｃａｌｈｏｓｔ", "ⓛocalhost"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::FFFF:7F00:1]"),
    *("[::ffff:10.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]"),
    *("[2001::1]", "[2001:db8::1]", "[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[fec0::1]", "[ff02::1]", "[100::1]"),
    *("[3fff::1]", "[5f00::1]", "[100:0:0:1::1]", "[4000::1]", "[1fff:ffff::1]", "[9000::1]"),
    *("168.63.129.16", "[::ffff:168.63.129.16]", "[64:ff9b::168.63.129.16]"),
    *("[2606:4700::5efe:10.0.0.1]", "[2606:4700::200:5efe:127.0.0.1]", "[2606:4700:0:0:0:5efe:808:808]"),
]  # fmt: skip

PUBLIC_ADDRESSES = ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.255"]
PUBLIC_ADDRESSES += ["2606:4700::1111", "2a00:1450:4001::1", "2003::1", "::ffff:8.8.8.8", "3ffe::1"]
PUBLIC_ADDRESSES += ["168.63.129.15", "168.63.129.17", "2606:4700::400:5efe:a00:1", "2606:4700::1:5efe:a00:1"]


def refusal(url: str, guard: Guard = STRICT) -> str:
    with pytest.raises(EndpointError) as error:
        guard.check_url(url)
    return error.value.message


@pytest.mark.parametrize("host", PRIVATE_HOSTS)
def test_no_spelling_of_a_private_address_is_registered(host: str) -> None:
    assert refusal(f"http://{host}/hook").endswith("is not a public address")
    assert refusal(f"http://{host}:8080").endswith("is not a public address")


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_public_addresses_are_allowed(address: str) -> None:
    assert STRICT.is_allowed(address)


@pytest.mark.parametrize(
    "address",
    [host.strip("[]") for host in PRIVATE_HOSTS]
    + ["fe80::1%eth0", "::ffff:10.0.0.1%1", "::1%lo", "", "example.com", "8.8.8.8/32", " 8.8.8.8", "8.8.8.8\0"],
)
def test_no_private_address_and_nothing_else_than_an_address_is_allowed(address: str) -> None:
    assert not STRICT.is_allowed(address)


def test_allowed_ranges_are_opened_for_every_spelling() -> None:
    assert LENIENT.is_allowed("127.0.0.1")
    assert LENIENT.is_allowed("::ffff:127.0.0.1")
    assert LENIENT.is_allowed("fd00::1%eth0")
    assert LENIENT.check_url("http://0x7f.1/hook") == "http://127.0.0.1/hook"
    assert LENIENT.check_url("http://localhost:8080/hook") == "http://localhost:8080/hook"
    assert not LENIENT.is_allowed("10.0.0.1")
    assert not LENIENT.is_allowed("::1")


def test_the_configuration_describes_one() -> None:
    config = WebhooksConfig(allow_http=True, allow_cidrs=[ip_network("127.0.0.0/8"), ip_network("fd00::/8")])
    assert Guard.of(config) == LENIENT
    assert Guard.of(WebhooksConfig()) == Guard()
    assert LENIENT.given_by("operator") == LENIENT
    assert LENIENT.given_by("customer") == Guard()
    everybody = Guard.of(config.model_copy(update={"allow_for_customers": True}))
    assert everybody.given_by("customer") == everybody


@given(address=st.ip_addresses(v=4))
def test_an_address_mapped_into_ipv6_is_judged_like_itself(address: IPv4Address) -> None:
    assert STRICT.is_allowed(f"::ffff:{address}") == STRICT.is_allowed(str(address))


@given(address=st.ip_addresses(v=4))
def test_what_python_calls_private_is_denied(address: IPv4Address) -> None:
    assert not (STRICT.is_allowed(str(address)) and (address.is_private or address.is_multicast))


@given(address=st.ip_addresses(v=4, network=IPv4Network("127.0.0.0/8")))
def test_loopback_hides_in_no_transition_prefix(address: IPv4Address) -> None:
    for prefix in ("::", "::ffff:0:0", "64:ff9b::", "64:ff9b:1::"):
        assert not STRICT.is_allowed(str(IPv6Address(int(IPv6Address(prefix)) | int(address))))
    assert not STRICT.is_allowed(str(IPv6Address((0x2002 << 112) | int(address) << 80)))


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM:443/Hook?a=B", "https://example.com/Hook?a=B"),
        ("https://example.com.:8443/", "https://example.com:8443/"),
        ("https://example.com:/x", "https://example.com/x"),
        ("https://bücher.example/straße?ü", "https://xn--bcher-kva.example/stra%C3%9Fe?%C3%BC"),
        ("https://faß.example", "https://xn--fa-hia.example"),
        ("https://my_service/%2Fa%2B", "https://my_service/%2Fa%2B"),
        ("https://134744072", "https://8.8.8.8"),
        ("https://[2606:4700:0:0::1111]:443", "https://[2606:4700::1111]"),
    ],
)
def test_a_url_is_stored_in_one_spelling(url: str, stored: str) -> None:
    assert Guard().check_url(url) == stored


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.com", "the URL is not https"),
        ("ftp://example.com", "the URL does not begin with https:// and a host"),
        ("example.com", "the URL does not begin with https:// and a host"),
        ("https:///path", "the URL does not begin with https:// and a host"),
        ("https:example.com", "the URL does not begin with https:// and a host"),
        ("", "the URL does not begin with https:// and a host"),
        ("https://user:secret@example.com", "the URL contains a user name"),
        ("https://8.8.8.8@127.0.0.1", "the URL contains a user name"),
        ("https://example.com#", "the URL contains a fragment (#)"),
        ("https://example.com/a b", "the URL contains a space, a backslash or a control character"),
        (" https://example.com", "the URL contains a space, a backslash or a control character"),
        ("https://example.com\\@127.0.0.1", "the URL contains a space, a backslash or a control character"),
        ("https://example.com/\r\nX: y", "the URL contains a space, a backslash or a control character"),
        ("https://example.com/\0", "the URL contains a space, a backslash or a control character"),
        ("https://example.com/\u2028", "the URL contains a space, a backslash or a control character"),
        ("https://example.com/\ud800", "the URL contains a space, a backslash or a control character"),
        ("https://example.com:0", "port 0 does not exist"),
        ("https://example.com:65536", "port 65536 does not exist"),
        ("https://example.com:٨٠", '"example.com:٨٠" is not a host and a port'),
        ("https://example.com:+80", '"example.com:+80" is not a host and a port'),
        ("https://[::1]evil.example", '"[::1]evil.example" is not a host and a port'),
        ("https://[fe80::1%eth0]", '"fe80::1%eth0" has a zone'),
        ("https://[127.0.0.1]", '"127.0.0.1" is not an IPv6 address'),
        ("https://%31%32%37.0.0.1", '"%31%32%37.0.0.1" is not an IPv4 address'),
        ("https://1.2.3.256", '"1.2.3.256" is not an IPv4 address'),
        ("https://example.08", '"example.08" is not an IPv4 address'),
        ("https://example..com", '"example..com" is not a host name'),
        ("https://-example.com", '"-example.com" is not a host name'),
        ("https://a|b.example", '"a|b.example" is not a host name'),
        ("https://" + "a" * 64 + ".example", f'"{"a" * 64}.example" is not a host name'),
        ("https://" + "a." * 127 + "aa", f'"{"a." * 127}aa" is not a host name'),
        ("https://example.com/" + "a" * 2048, "the URL has 2068 characters"),
    ],
)
def test_a_url_that_is_not_acceptable_is_explained(url: str, problem: str) -> None:
    assert refusal(url, Guard()) == problem


def test_a_refused_address_comes_with_a_way_out() -> None:
    with pytest.raises(EndpointError) as error:
        Guard().check_url("https://127.1")
    assert error.value.message == '"127.1" (127.0.0.1) is not a public address'
    assert "allow_cidrs" in str(error.value.hint)


hosts = st.from_regex(r"[a-z0-9.\[\]:%@é１。_-]{1,30}", fullmatch=True)


@given(url=st.text() | st.builds("https://{}{}".format, hosts, st.text()))
@example(url="https://é.")
def test_any_text_is_stored_in_a_form_that_is_accepted_again_or_refused(url: str) -> None:
    try:
        stored = STRICT.check_url(url)
    except EndpointError:
        return
    assert STRICT.check_url(stored) == stored
    parsed = urlsplit(stored)  # as the transport reads it
    assert stored.isascii()
    assert (parsed.scheme, parsed.username, parsed.fragment) == (stored.partition(":")[0], None, "")
    assert stored.replace("[", "", 1).startswith(f"{parsed.scheme}://{parsed.hostname}")


def test_a_socket_is_made_for_an_allowed_address_only() -> None:
    with LENIENT.socket_factory((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))) as made:
        assert made.family == socket.AF_INET
    for family, address in ((socket.AF_INET, ("10.0.0.1", 80)), (socket.AF_INET6, ("::1", 80, 0, 0))):
        with pytest.raises(BlockedAddress, match="is not a public address") as refused:
            LENIENT.socket_factory((family, socket.SOCK_STREAM, 0, "", address))
        assert refused.value.address == address[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("X-A", value) for value in ("a\r\nB: c", "a\nb", "a\rb", "a\0", "ä", "\x7f")),
        *((name, "a") for name in ("", "X A", "X:A", "X-A\r\nB", "ä", "Host", "CONTENT-LENGTH", "transfer-encoding")),
    ],
)
def test_a_header_that_could_change_the_request_is_refused(name: str, value: str) -> None:
    with pytest.raises(EndpointError):
        check_header(name, value)
    with pytest.raises(EndpointError):
        check_custom_headers({name: value})


def test_a_value_is_not_shown_when_it_is_refused() -> None:
    with pytest.raises(EndpointError) as error:
        check_header("Authorization", "Bearer secret\n")
    assert "secret" not in f"{error.value} {error.value.hint}"


def test_custom_headers_leave_the_signature_alone() -> None:
    check_custom_headers({"Authorization": "Bearer t", "X-Tenant": "a\tb"})
    for name in ("webhook-id", "X-Webhook-Signature"):
        with pytest.raises(EndpointError, match="carries the signature"):
            check_custom_headers({name: "a"})
