"""Addresses of calls: of a base URL, of ids of any characters, of filters."""

import traceback
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.client import CallError, Client
from svc_pg.client.addresses import api_address, path_of, query_of
from svc_pg.errors import ConfigError

PREFIX: Final = "/.well-known/svc"
TEXTS: Final = st.text(st.characters(codec="utf-8"), min_size=1)


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://shop.example", f"https://shop.example{PREFIX}"),
        ("https://shop.example/", f"https://shop.example{PREFIX}"),
        ("https://shop.example:8443/shop/", f"https://shop.example:8443/shop{PREFIX}"),
        (f"https://shop.example{PREFIX}/", f"https://shop.example{PREFIX}"),
        ("http://localhost:8000", f"http://localhost:8000{PREFIX}"),
        ("http://127.0.0.2", f"http://127.0.0.2{PREFIX}"),
        ("http://[::1]:8000", f"http://[::1]:8000{PREFIX}"),
    ],
)
def test_a_base_url_may_have_a_path_and_the_prefix_already(base_url: str, address: str) -> None:
    assert api_address(base_url, prefix=PREFIX) == address


@pytest.mark.parametrize(
    ("base_url", "problem"),
    [
        ("", "is empty"),
        ("shop.example", "does not begin with https://"),
        ("shop.example:8000", "does not begin with https://"),
        ("//shop.example", "does not begin with https://"),
        ("ftp://shop.example", "does not begin with https://"),
        ("https://", "does not begin with https://"),
        ("https://shop.example:port", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("https://ann:hunter2", "is not a URL"),
        ("https://[v1.a]", "is not a URL"),
        ("https://[::1]x", "is not a URL"),
        ("https://1.2.3.999", "is not a URL"),
        ("https://shop\\x.example", "is not a URL"),
        ("https://shop..example", "is not a URL"),
        (f"https://{'a' * 64}.example", "is not a URL"),
        ("https://xn--a", "is not a URL"),
        (f"https://shop.example/{'a' * 70_000}", "is not a URL"),
        ("https://ann:hunter2@shop.example", "has a name or a password"),
        ("https://shop.example?a=b", "has a query"),
        ("https://shop.example/../admin", "dots in its path"),
        ("https://shop.example\n", "a line break"),
        ("https://shop.example/ /", "a space"),
        ("http://shop.example", "would send the token to shop.example unencrypted"),
        ("http://127.0.0.1.shop.example", "unencrypted"),
    ],
)
def test_a_base_url_that_is_none_is_refused_without_its_password(base_url: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        Client(base_url, token="t")
    assert "hunter2" not in "".join(traceback.format_exception(refused.value, limit=0)) + str(refused.value.hint)
    assert refused.value.hint


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=80))
def test_a_base_url_is_refused_at_once_or_its_calls_can_be_sent(rest: str) -> None:
    with suppress(ConfigError):
        address = api_address(f"https://{rest}", prefix=PREFIX)
        sent = httpx.Client().build_request("GET", f"{address}/audit/entries")
        assert sent.url.scheme == "https"
        sent.url.raw_host.decode().encode("idna")  # as the lookup of the name does


def test_another_machine_is_called_unencrypted_if_that_is_wanted() -> None:
    assert repr(Client("http://console:8000", allow_http=True)) == f"Client('http://console:8000{PREFIX}')"


@given(TEXTS, TEXTS)
def test_an_id_of_any_characters_stays_one_segment_of_the_path(table: str, key: str) -> None:
    path = path_of("/audit/records/{table}/{id}/states", [table, key])
    sent = httpx.Client().build_request("GET", f"https://shop.example{path}").url.raw_path.decode()
    segments = [unquote(segment) for segment in sent.split("/")]
    assert segments == ["", "audit", "records", table, key, "states"]


@pytest.mark.parametrize("key", [".", "..", "../..", "a/b", "%2e%2e", "a?b=c#d", "a\r\nHost: x"])
def test_an_id_cannot_lead_to_another_path(key: str) -> None:
    path = path_of("/webhooks/endpoints/{id}", [key])
    sent = httpx.Client().build_request("GET", f"https://shop.example{path}").url
    assert sent.raw_path.decode().count("/") == 3
    assert sent.host == "shop.example"
    assert not sent.query


@pytest.mark.parametrize("key", ["", 7, None, b"7", "\ud800"])
def test_an_id_that_is_no_text_is_refused(key: object) -> None:
    with pytest.raises(CallError, match=r"^id "):
        path_of("/webhooks/endpoints/{id}", [key])  # type: ignore[list-item] # what is tested


def test_a_call_with_too_long_an_address_is_refused() -> None:
    with Client("https://shop.example") as client, pytest.raises(CallError, match="too long") as refused:
        client.deliveries.list(ids=[f"{number:036}" for number in range(2000)])
    assert refused.value.hint
    with Client("https://shop.example") as client, pytest.raises(CallError, match="too long"):
        client.tenants.get("a" * 70_000)


def test_filters_are_written_as_the_api_reads_them() -> None:
    query = query_of(
        {
            "not_actor": ["ann", "b&b"],
            "tenant": None,
            "ids": ["1", "2"],
            "limit": 5,
            "dry_run": True,
            "since": timedelta(hours=36),
            "until": datetime(2026, 1, 31, 12, tzinfo=UTC),
        },
        with_commas=("ids",),
    )
    assert parse_qsl(query) == [
        ("notActor", "ann"),
        ("notActor", "b&b"),
        ("ids", "1,2"),
        ("limit", "5"),
        ("dryRun", "true"),
        ("since", "36h"),
        ("until", "2026-01-31T12:00:00+00:00"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 31),  # noqa: DTZ001 - what is tested
        timedelta(0),
        b"bytes",
        bytearray(b"bytes"),
        memoryview(b"bytes"),
        {"a": 1},
        [None],
        "\udfff",
    ],
    ids=repr,
)
def test_a_filter_that_cannot_be_written_is_refused(value: object) -> None:
    with pytest.raises(CallError, match=r"since|surrogate"):
        query_of({"since": value})


@pytest.mark.parametrize("value", [[], (), set(), {}.keys()], ids=repr)
def test_a_filter_by_nothing_is_refused_and_does_not_become_everything(value: object) -> None:
    for with_commas in ((), ("ids",)):
        with pytest.raises(CallError, match="ids is empty"):
            query_of({"ids": value}, with_commas=with_commas)
    with pytest.raises(CallError, match="ids is empty"):
        Client("https://shop.example").deliveries.iterate(ids=[])


def test_a_filter_that_can_be_read_once_is_refused_or_the_second_page_would_have_none() -> None:
    for once in (iter(["1"]), (each for each in "1"), map(str, [1]), {"1": 1}.values()):
        with pytest.raises(CallError, match=r"ids is .*or a list of them"):
            query_of({"ids": once})
    assert query_of({"ids": {"1": 1}.keys()}) == query_of({"ids": frozenset("1")}) == "ids=1"
