"""Many at once, in several processes, and a crash in the middle."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from svc_pg.console.sign_in import codes
from tests.integration.console.serving import PREFIX, assert_problem, serving
from tests.integration.console.signing_in import Device, Mailbox, magic_settings, new_address, new_ip, rows, wrong
from tests.support.http_clients import client_for_threads
from tests.support.waiting import wait_until


def at_once(number: int, call: Callable[[int], httpx.Response]) -> list[httpx.Response]:
    with ThreadPoolExecutor(max_workers=number) as pool:
        return list(pool.map(call, range(number)))


def outcomes(responses: list[httpx.Response]) -> Counter[str]:
    return Counter(response.json().get("code") or response.json()["status"] for response in responses)


def wrong_codes(code: str, number: int) -> list[str]:
    found = [code[:4] + first + second for first in codes.ALPHABET for second in codes.ALPHABET]
    return [text for text in found if text != code][:number]


def test_of_a_hundred_parallel_wrong_codes_exactly_five_are_evaluated(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    tried = wrong_codes(code, 100)
    responses = at_once(100, lambda number: device.verify(tried[number], **{"X-Forwarded-For": new_ip()}))
    assert outcomes(responses) == {"invalid_code": 5, "locked": 95}
    left = sorted(response.json()["attemptsRemaining"] for response in responses if response.status_code == 400)
    assert left == [0, 1, 2, 3, 4]
    assert_problem(device.verify(code), 423, "locked")
    found = rows(
        console_database,
        "select status, failed_attempts from svc.console_magic_links where session_id = %s",
        device.session_id,
    )
    assert found == [("locked", 5)]


def test_parallel_inits_of_one_address_send_one_mail_a_network_and_of_one_network_ten_links(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email, other, ip = new_address(), new_address(), new_ip()
    mailed = "select count(*) from svc.console_events where email = %s and detail is null"
    assert outcomes_of_init(at_once(20, lambda _: Device(magic, email, ip=ip).begun)) == {200: 10, 429: 10}
    assert rows(console_database, mailed, email) == [(1,)]
    mailbox.code(email)
    assert len(mailbox.to(email)) == 1
    assert outcomes_of_init(at_once(20, lambda _: Device(magic, other).begun)) == {200: 20}
    assert rows(console_database, mailed, other) == [(12,)]


def outcomes_of_init(responses: list[httpx.Response]) -> Counter[int]:
    return Counter(response.status_code for response in responses)


def test_of_fifty_parallel_right_codes_one_verifies(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    responses = at_once(50, lambda _: device.verify(code, **{"X-Forwarded-For": new_ip()}))
    assert outcomes(responses) == {"verified": 1, "already_verified": 49}


def test_right_and_wrong_codes_at_once_never_verify_a_locked_link(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    responses = at_once(
        20,
        lambda number: device.verify(code if number == 19 else wrong(code), **{"X-Forwarded-For": new_ip()}),
    )
    counted = outcomes(responses)
    [(status,)] = rows(
        console_database, "select status from svc.console_magic_links where session_id = %s", device.session_id
    )
    assert (counted["verified"], status) in ((1, "verified"), (0, "locked"))
    assert counted["invalid_code"] <= 5


def serve_until_told(database: str, pipe: "Connection[str, str]") -> None:
    from svc_pg.console import Console

    console = Console(magic_settings(database), email_sender=Mailbox())
    with serving(console.asgi, proxy_headers=False) as base_url:
        pipe.send(base_url)
        pipe.recv()


@contextmanager
def process_serving(database: str) -> Iterator[httpx.Client]:
    """A console in a process of its own."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve_until_told, args=(database, there))
    process.start()
    try:
        assert here.poll(90), "the process serves"
        with client_for_threads(here.recv() + PREFIX, timeout=30) as client:
            yield client
        here.send("end")
        process.join(timeout=30)
    finally:
        process.kill()
        process.join()


def test_fifty_claims_over_two_processes_give_one_token_and_one_session(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)
    assert device.verify(mailbox.code(email)).status_code == 200
    with ExitStack() as stack:
        clients = [stack.enter_context(process_serving(console_database)) for _ in range(2)]
        body = {"sessionId": device.session_id}
        holder = stack.enter_context(psycopg.connect(console_database))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        holder.execute("select from svc.console_magic_links where session_id = %s for update", [device.session_id])
        claims = pool.submit(
            at_once,
            50,
            lambda number: clients[number % 2].post("/console/session/claim", json=body, headers=device.bearer),
        )
        waiting = (
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        wait_until(lambda: rows(console_database, waiting)[0][0] >= 10, "claims wait for the link")
        holder.commit()
        responses = claims.result()
        assert outcomes(responses) == {"claimed": 50}
        [token] = {response.json()["sessionToken"] for response in responses}
        for client in (*clients, magic):
            assert client.get("/account/session", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    found = rows(console_database, "select count(*) from svc.console_sessions where id = %s", device.session_id)
    assert found == [(1,)]


def execute(conn: psycopg.Connection[Any], statement: LiteralString) -> None:
    conn.execute(statement)


@pytest.fixture
def crash(console_database: str) -> Iterator[Callable[[], None]]:
    """While it is not called off, the backend that inserts a session dies, after the link was updated."""
    with psycopg.connect(console_database, autocommit=True) as conn:
        conn.execute("""
            create function public.die() returns trigger language plpgsql as $$
            begin
                perform pg_terminate_backend(pg_backend_pid());
                return new;
            end $$
        """)
        conn.execute(
            "create trigger die before insert on svc.console_sessions for each row execute function public.die()"
        )
        try:
            yield lambda: execute(conn, "drop trigger die on svc.console_sessions")
        finally:
            conn.execute("drop function public.die() cascade")


def test_a_crash_between_the_two_writes_of_a_claim_leaves_a_verified_link(
    magic: httpx.Client, mailbox: Mailbox, console_database: str, crash: Callable[[], None]
) -> None:
    email = new_address()
    device = Device(magic, email)
    device.verify(mailbox.code(email))
    assert_problem(device.claim(), 503, "database_unavailable")
    state = "select status, claimed_at from svc.console_magic_links where session_id = %s"
    sessions = "select count(*) from svc.console_sessions where id = %s"
    assert rows(console_database, state, device.session_id) == [("verified", None)]
    assert rows(console_database, sessions, device.session_id) == [(0,)]
    crash()
    assert device.claim().status_code == 200
    assert rows(console_database, sessions, device.session_id) == [(1,)]
