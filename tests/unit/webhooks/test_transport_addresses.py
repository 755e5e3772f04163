"""Whatever a name or a number leads to, no connection goes to an address that is not allowed."""

import asyncio
import socket
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from itertools import groupby
from typing import ClassVar

import pytest

from svc_pg.webhooks.http import guard, resolver
from svc_pg.webhooks.http.guard import AddrInfo, Guard
from svc_pg.webhooks.http.transport import Transport
from tests.support.name_server import name_server
from tests.support.raw_receiver import OK, receiver, request, saying, saying_and_closing, silence
from tests.support.transports import post, send
from tests.unit.webhooks.conftest import Making

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=300)


async def test_a_refused_connection_is_a_connect_error(transport: Transport) -> None:
    async with receiver(silence) as address:
        pass
    result = await send(transport, request(address))
    assert (result.outcome, result.status, result.remote_ip) == ("connect_error", None, "127.0.0.1")
    assert result.error == "cannot connect to 127.0.0.1: Connection refused"


class Deceived(Guard):
    """A guard that was shown another address when the URL was checked (DNS rebinding)."""

    def check_url(self, url: str) -> str:
        return url


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_connection_to_a_private_address_is_blocked_however_it_is_named(making: Making, host: str) -> None:
    connected = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)

    transport = making(Deceived(allow_http=True))
    async with receiver(answer) as address:
        result = await send(transport, request(address.replace("127.0.0.1", host)))
    assert (result.outcome, result.remote_ip) == ("blocked", "127.0.0.1")
    assert result.error == "127.0.0.1 is not a public address"
    assert not connected


@pytest.mark.parametrize("host", ["2130706433", "127.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
@pytest.mark.parametrize("guard", [Guard(allow_http=True), Deceived(allow_http=True)])
async def test_an_odd_spelling_of_a_private_address_goes_nowhere(making: Making, host: str, guard: Guard) -> None:
    transport = making(guard)
    result = await send(transport, request(host))
    assert result.outcome != "success"
    assert result.remote_ip is None or result.outcome == "blocked"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "//a",
        "ftp://127.0.0.1/",
        "http://127.0.0.1:x/",
        "http://\ud800/",
        "http://127.0.0.1/\r\nHost: a",
        "http://[",
    ],
)
async def test_a_url_that_was_never_checked_is_blocked(transport: Transport, url: str) -> None:
    result = await send(transport, post(url))
    assert (result.outcome, result.remote_ip) == ("blocked", None)
    assert str(result.error).startswith(("the URL", '"127.0.0.1:x"', '"["'))


async def test_a_name_from_the_hosts_file_is_resolved(transport: Transport) -> None:
    async with receiver(saying(OK)) as address:
        result = await send(transport, request(address.replace("127.0.0.1", "localhost")))
    assert (result.outcome, result.remote_ip) == ("success", "127.0.0.1")


async def test_an_ipv6_address_is_reached_and_named(making: Making) -> None:
    transport = making(Guard([ip_network("::1/128")], allow_http=True))
    async with receiver(saying(OK), host="::1") as address:
        results = [await send(transport, request(address)) for _ in range(2)]
    assert [(result.outcome, result.remote_ip) for result in results] == [("success", "::1")] * 2


async def test_the_next_address_of_a_name_is_tried_if_one_refuses(making: Making, loopback: Guard) -> None:
    async with (
        name_server(lambda _: ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) as names,
        receiver(saying_and_closing(OK), host="127.0.0.3") as address,
    ):
        transport = making(loopback, names=names)
        results = [
            await send(transport, request(f"several.test:{address.partition(':')[2]}")) for _ in range(4)
        ]  # each is the first in turn
    assert [(result.outcome, result.remote_ip) for result in results] == [("success", "127.0.0.3")] * 4


class Counting(Guard):
    """A guard that notes the addresses of the sockets that it made."""

    made: ClassVar[list[str]] = []

    def socket_factory(self, addr_info: AddrInfo) -> socket.socket:
        self.made.append(str(addr_info[4][0]))
        return super().socket_factory(addr_info)


async def test_a_name_of_many_addresses_leads_to_few_connections(making: Making, loopback: Guard) -> None:
    """Otherwise whoever owns the name has one delivery knock at any number of doors."""
    Counting.made.clear()
    guard = Counting(loopback.allow_cidrs, allow_http=True)
    async with name_server(lambda _: [f"127.0.1.{number}" for number in range(200)]) as names:
        result = await send(making(guard, names=names), request("many.test:9"))
    assert result.outcome == "connect_error"
    assert len(Counting.made) == 8


async def test_a_name_is_asked_for_once_at_a_time(making: Making, loopback: Guard) -> None:
    asked: list[str] = []

    def addresses(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    async with name_server(addresses) as names, receiver(saying(OK)) as address:
        transport = making(loopback, names=names)
        url = f"popular.test:{address.partition(':')[2]}"
        results = await asyncio.gather(*(send(transport, request(url)) for _ in range(50)))
    assert {result.outcome for result in results} == {"success"}
    assert len(asked) <= 2  # A and AAAA


async def test_the_answers_of_few_names_are_kept_for_a_while(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def addresses(name: str) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"]

    async def asked_by_requests(*wanted: str) -> list[str]:
        asked.clear()
        for name in wanted:
            await send(transport, request(f"{name}:{address.partition(':')[2]}"))
        return [name for name, _ in groupby(asked)]  # A and AAAA

    monkeypatch.setattr(resolver, "_MOST", 2)
    async with name_server(addresses) as names, receiver(saying_and_closing(OK)) as address:
        transport = making(loopback, names=names)
        assert await asked_by_requests("a.test", "a.test", "b.test", "a.test", "b.test") == ["a.test", "b.test"]
        assert await asked_by_requests("c.test", "b.test", "a.test") == ["c.test", "a.test"]
        monkeypatch.setattr(resolver, "_KEPT", 0)
        assert await asked_by_requests("d.test", "e.test", "d.test") == ["d.test", "e.test", "d.test"]


async def test_a_name_without_an_address_is_a_dns_error(making: Making, loopback: Guard) -> None:
    async with name_server(lambda _: []) as names:
        result = await send(making(loopback, names=names), request("empty.test:9"))
    assert (result.outcome, str(result.error).partition(":")[0]) == ("dns_error", "cannot resolve empty.test")


async def test_a_name_that_does_not_exist_is_a_dns_error(transport: Transport) -> None:
    result = await send(transport, request("svc-pg.onion"))  # never asked of a name server (RFC 7686)
    assert (result.outcome, result.remote_ip) == ("dns_error", None)
    assert str(result.error).startswith("cannot resolve svc-pg.onion: ")


async def test_the_remote_address_belongs_to_its_own_request(transport: Transport) -> None:
    async with (
        receiver(saying(OK), host="127.0.0.1") as first,
        receiver(saying(OK), host="127.0.0.2") as second,
    ):
        addresses = [first, second] * 50
        results = await asyncio.gather(*(send(transport, request(address)) for address in addresses))
    assert [result.remote_ip for result in results] == [address.partition(":")[0] for address in addresses]


async def test_names_that_never_resolve_do_not_hold_up_one_that_does(making: Making, loopback: Guard) -> None:
    asked: set[str] = set()
    all_hang = asyncio.Event()

    def addresses(name: str) -> list[str] | None:
        if name == "good.test":
            return ["127.0.0.1"]
        asked.add(name)
        if len(asked) == 60:
            all_hang.set()
        return None

    async with name_server(addresses) as names, receiver(saying(OK)) as address:
        transport = making(loopback, names=names)
        port = address.partition(":")[2]
        hanging = [
            asyncio.create_task(send(transport, request(f"hanging-{number}.test:{port}"))) for number in range(60)
        ]
        await asyncio.wait_for(all_hang.wait(), 5)
        good = await send(transport, request(f"good.test:{port}"))
        assert (good.outcome, good.remote_ip) == ("success", "127.0.0.1")
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.wait(hanging)


async def test_a_name_that_never_resolves_meets_the_deadline(making: Making, loopback: Guard) -> None:
    async with name_server(lambda name: None if name == "hanging.test" else []) as names:
        result = await send(making(loopback, names=names), request("hanging.test", timeout=SHORT))
    assert (result.outcome, result.remote_ip) == ("timeout", None)


async def test_a_name_that_leads_elsewhere_the_next_time_is_judged_anew(making: Making) -> None:
    """DNS rebinding: 127.0.0.2 stands for the public address that was shown at first."""
    guard = Guard([ip_network("127.0.0.2/32")], allow_http=True)
    shown = ["127.0.0.2"]
    connected = []

    async def internal(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)

    async with (
        name_server(lambda _: shown) as names,
        receiver(internal) as address,  # first, because on the other address nobody else takes ports
        receiver(saying_and_closing(OK), host="127.0.0.2", port=int(address.partition(":")[2])),
    ):
        url = f"rebound.test:{address.partition(':')[2]}"
        first = await send(making(guard, names=names), request(url))
        shown[:] = ["127.0.0.1"]
        second = await send(making(guard, names=names), request(url))
        shown[:] = ["127.0.0.1", "127.0.0.2"]
        third = await send(making(guard, names=names), request(url))
    assert (first.outcome, first.remote_ip) == ("success", "127.0.0.2")
    assert (second.outcome, second.remote_ip) == ("blocked", "127.0.0.1")
    assert (third.outcome, third.remote_ip) in {("success", "127.0.0.2"), ("blocked", "127.0.0.1")}
    assert not connected


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1"),
        *("192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
        *("::1", "::", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1"),
        *("2002:7f00:1::", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "ff02::1"),
    ],
)
async def test_a_private_address_that_a_name_leads_to_is_blocked(making: Making, address: str) -> None:
    async with name_server(lambda _: [address]) as names:
        result = await send(making(Guard(allow_http=True), names=names), request("private.test"))
    assert (result.outcome, result.status) == ("blocked", None)
    assert str(result.error).endswith("is not a public address")


async def test_a_name_without_addresses_is_a_dns_error(making: Making, loopback: Guard) -> None:
    async with name_server(lambda _: []) as names:
        assert (await send(making(loopback, names=names), request("empty.test"))).outcome == "dns_error"


async def test_a_url_of_a_customer_leads_to_public_addresses_alone_also_over_an_open_connection(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiver(saying(OK)) as address, name_server(lambda _: ["127.0.0.1"]) as names:
        inside = address.replace("127.0.0.1", "inside.test")
        transport = making(loopback, names=names)
        assert (await send(transport, request(inside))).outcome == "success"
        result = await send(transport, request(inside, url_by="customer"))
        assert (result.outcome, result.error) == ("blocked", "the URL is not https")
        monkeypatch.setattr(guard, "_OF_CUSTOMERS", Deceived(allow_http=True))  # its check of the URL sees nothing
        for host in (inside, address):
            assert (await send(transport, request(host))).outcome == "success"  # which leaves a connection open
            result = await send(transport, request(host, url_by="customer"))
            assert (result.outcome, result.error) == ("blocked", "127.0.0.1 is not a public address")
        everybody = making(replace(loopback, allow_for_customers=True), names=names)
        assert (await send(everybody, request(inside, url_by="customer"))).outcome == "success"
