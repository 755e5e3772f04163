"""Faults of this machine are told from those of receivers."""

import asyncio
import errno
import json
import resource
import socket
import subprocess
import sys
from contextlib import AsyncExitStack
from ipaddress import ip_network

import pytest

from svc_pg.webhooks.http import local_faults, open_files
from svc_pg.webhooks.http.guard import AddrInfo, Guard
from svc_pg.webhooks.http.local_faults import local_fault
from tests.support.name_server import NXDOMAIN, REFUSED, SERVFAIL, name_server
from tests.support.raw_receiver import (
    OK,
    Answer,
    read_request,
    receiver,
    request,
    saying,
    saying_and_closing,
    silence,
)
from tests.support.transports import send
from tests.unit.webhooks.conftest import Making
from tests.unit.webhooks.test_transport_deadlines import SHORT

pytestmark = pytest.mark.anyio

PREPARE = """
import asyncio, json, resource, subprocess, sys
from datetime import timedelta
from ipaddress import ip_network
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.http1_transport import Http1Transport
from tests.support.transports import post, send

def request(address):
    return post(f"http://{address}/", timeout=timedelta(seconds=2))

def transport():
    guard = Guard([ip_network("127.0.0.0/8"), ip_network("192.0.2.0/24")], allow_http=True)
    return Http1Transport(guard, concurrency=100)
"""
NO_RESPONSE = "no complete response within 2 s"
FEW_FILES = """
async def main():
    sender = transport()
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    crowd = await asyncio.gather(*(send(sender, request(sys.argv[1])) for _ in range(100)))
    later = await send(sender, request(sys.argv[2]))
    print(json.dumps([[(result.outcome, result.error) for result in crowd], later.outcome]))
    await sender.close()

asyncio.run(main())
"""
NO_ROUTE = """
async def main():
    sender = transport()
    result = await send(sender, request("192.0.2.1"))
    print(json.dumps([result.outcome, result.error]))
    await sender.close()

asyncio.run(main())
"""
NO_PORTS = """
async def hold(*_):
    await asyncio.Event().wait()

async def main():
    for command in ("link set lo up", "route add default dev lo"):
        subprocess.run(["ip", *command.split()], check=True)
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as ports:
        ports.write("50000 50000")
    sender = transport()
    await asyncio.start_server(hold, "127.0.0.1", 8080)
    results = await asyncio.gather(*(send(sender, request("127.0.0.1:8080")) for _ in range(3)))
    print(json.dumps(sorted({(result.outcome, result.error) for result in results})))
    await sender.close()

asyncio.run(main())
"""


async def run(*command: str) -> list[object]:
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    found: list[object] = json.loads(output)
    return found


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the client is a process of its own
async def test_requests_for_which_there_are_no_files_are_no_fault_of_their_receiver() -> None:
    async with receiver(silence) as crowded, receiver(saying(OK)) as quick:
        crowd, later = await run(sys.executable, "-c", PREPARE + FEW_FILES, crowded, quick)
    assert isinstance(crowd, list)
    assert {tuple(each) for each in crowd} == {
        ("timeout", NO_RESPONSE),
        ("local_error", "Too many open files"),
    }
    assert later == "success"


async def test_the_limit_of_files_is_raised_as_far_as_the_user_may() -> None:
    program = """
import json, resource
from svc_pg.webhooks.http import open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))
open_files.raise_limit()
print(json.dumps([open_files.limit()]))
"""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 4096:
        pytest.skip("this user may not open so many files")
    assert await run(sys.executable, "-c", program) == [4096]


async def test_idle_connections_are_few_and_the_last_used(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: 16)
    opened: list[int] = []
    closed: list[int] = []
    six_are_closed = asyncio.Event()

    def answer(number: int) -> Answer:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened.append(number)
            try:
                await saying(OK)(reader, writer)
            finally:
                closed.append(number)
                if len(closed) == 6:
                    six_are_closed.set()

        return answer

    async with AsyncExitStack() as stack:
        transport = making(loopback)
        addresses = [await stack.enter_async_context(receiver(answer(number))) for number in range(10)]
        for address in addresses:
            assert (await send(transport, request(address))).outcome == "success"
        await asyncio.wait_for(six_are_closed.wait(), 10)
        assert sorted(closed) == [0, 1, 2, 3, 4, 5]
        for number in (9, 6, 0):
            assert (await send(transport, request(addresses[number]))).outcome == "success"
        assert opened == [*range(10), 0]


async def test_connections_that_receivers_closed_take_no_place_of_others(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "limit", lambda: 16)
    opened: list[asyncio.StreamWriter] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(writer)
        await saying(OK)(reader, writer)

    async with AsyncExitStack() as stack:
        transport = making(loopback)
        first = await stack.enter_async_context(receiver(answer))
        closing = [await stack.enter_async_context(receiver(saying_and_closing(OK))) for _ in range(8)]
        for address in (first, *closing, first):
            assert (await send(transport, request(address))).outcome == "success"
    assert len(opened) == 1


async def test_a_name_server_that_answers_nothing_at_all_is_no_fault_of_a_receiver(
    making: Making, loopback: Guard
) -> None:
    async with name_server(lambda _: None) as names:
        result = await send(making(loopback, names=names), request("shop.test", timeout=SHORT))
    assert (result.outcome, result.error) == ("local_error", "no name server answers")


async def test_a_name_that_its_own_servers_do_not_answer_is_the_fault_of_the_receiver(
    making: Making, loopback: Guard
) -> None:
    async with name_server(lambda name: None if name == "shop.test" else []) as names:
        result = await send(making(loopback, names=names), request("shop.test", timeout=SHORT))
    assert (result.outcome, result.remote_ip) == ("timeout", None)


async def test_a_name_server_that_stops_answering_is_found_out_however_long_its_answers_may_be_kept(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.http.local_faults._FRESH", 0.0)
    is_up = True
    async with name_server(lambda name: NXDOMAIN if is_up and name != "shop.test" else None) as names:
        transport = making(loopback, names=names)
        first = await send(transport, request("shop.test", timeout=SHORT))
        is_up = False
        second = await send(transport, request("shop.test", timeout=SHORT))
    assert (first.outcome, second.outcome) == ("timeout", "local_error")


@pytest.mark.parametrize(("others", "outcome"), [(SERVFAIL, "local_error"), (NXDOMAIN, "dns_error")])
async def test_a_name_server_that_fails_for_every_name_is_no_fault_of_a_receiver(
    making: Making, loopback: Guard, others: int, outcome: str
) -> None:
    async with name_server(lambda name: SERVFAIL if name == "shop.test" else others) as names:
        result = await send(making(loopback, names=names), request("shop.test"))
    assert result.outcome == outcome


async def test_a_name_server_that_refuses_every_question_is_no_fault_of_a_receiver(
    making: Making, loopback: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("svc_pg.webhooks.http.local_faults._FRESH", 0.0)
    monkeypatch.setattr("svc_pg.webhooks.http.resolver._KEPT", 0.0)
    is_open = False
    async with receiver(saying(OK)) as address, name_server(lambda _: ["127.0.0.1"] if is_open else REFUSED) as names:
        transport = making(loopback, names=names)
        at_its_start = await send(transport, request("shop.test"))
        is_open = True
        when_open = await send(transport, request(f"shop.test:{address.rpartition(':')[2]}"))
        is_open = False
        later = await send(transport, request("other.test"))
    assert [result.outcome for result in (at_its_start, when_open, later)] == ["local_error", "success", "local_error"]
    assert later.error == "the name server refuses all questions"


async def test_a_name_server_that_knows_its_own_names_alone_refuses_a_receiver(making: Making, loopback: Guard) -> None:
    def own(name: str) -> list[str] | int:
        return REFUSED if not name.endswith("own.test") else ["127.0.0.1"] if name == "own.test" else NXDOMAIN

    async with receiver(saying(OK)) as address, name_server(own) as names:
        transport = making(loopback, names=names)
        inside = await send(transport, request(f"own.test:{address.rpartition(':')[2]}"))
        outside = await send(transport, request("shop.test"))
    assert (inside.outcome, outside.outcome) == ("success", "dns_error")
    assert "refused" in str(outside.error)


async def test_a_name_server_that_is_not_there_is_no_fault_of_a_receiver(making: Making, loopback: Guard) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    result = await send(making(loopback, names=f"127.0.0.1:{port}"), request("shop.test"))
    assert result.outcome == "local_error"
    assert str(result.error).startswith("no name server can be asked")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_what_a_machine_runs_out_of_is_its_own_fault(number: int) -> None:
    assert local_fault(OSError(number, "words")) is not None
    later = ValueError("words")
    later.__cause__ = OSError(number, "words")
    assert local_fault(later) is not None


class Full(Guard):
    """Of a machine that has no more files once ``is_full`` is set."""

    is_full = False

    def socket_factory(self, addr_info: AddrInfo) -> socket.socket:
        if self.is_full:
            raise OSError(errno.EMFILE, "Too many open files")
        return super().socket_factory(addr_info)


async def test_a_machine_without_files_gives_up_its_idle_connections(
    making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_given_up = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await reader.read()
        is_given_up.set()

    transport = making(Full([ip_network("127.0.0.0/8")], allow_http=True))
    async with receiver(answer) as address, asyncio.timeout(10):
        assert (await send(transport, request(address))).outcome == "success"
        monkeypatch.setattr(Full, "is_full", True)
        assert (await send(transport, request("127.0.0.2:9"))).outcome == "local_error"
        await is_given_up.wait()


@pytest.mark.parametrize("has_route", [True, False])
@pytest.mark.parametrize("number", [errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ECONNRESET, errno.EPIPE])
def test_what_a_receiver_does_is_not(number: int, monkeypatch: pytest.MonkeyPatch, *, has_route: bool) -> None:
    monkeypatch.setattr(local_faults, "has_route", lambda: has_route)
    assert local_fault(OSError(number, "words")) is None
    assert local_fault(TimeoutError()) is None


@pytest.mark.parametrize("number", [errno.ENETUNREACH, errno.ENETDOWN])
def test_a_network_that_cannot_be_reached_is_one_of_the_receiver_if_others_can(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for has_route, fault in ((True, None), (False, "no public address has a route")):
        monkeypatch.setattr(local_faults, "has_route", lambda has_route=has_route: has_route)
        assert local_fault(OSError(number, "words")) == fault


def unshared(*command: str) -> list[str]:
    """The command in a network of its own, in which nothing is up."""
    alone = ["unshare", "--net", "--map-root-user"]
    try:
        subprocess.run([*alone, "ip", "link"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs unshare and ip, and the right to make a network of its own")
    return [*alone, *command]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the client is a process of its own
async def test_a_machine_without_any_route_is_at_fault_itself() -> None:
    found = await run(*unshared(sys.executable, "-c", PREPARE + NO_ROUTE))
    assert found == ["local_error", "no public address has a route"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the client is a process of its own
async def test_a_machine_without_free_ports_is_at_fault_itself() -> None:
    found = await run(*unshared(sys.executable, "-c", PREPARE + NO_PORTS))
    assert found == [["local_error", "no port is free for another connection"], ["timeout", NO_RESPONSE]]
