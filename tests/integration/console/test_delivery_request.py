"""The request that the page of a delivery shows, line by line beside what a receiver got."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape

import httpx
import psycopg
import pytest
from pydantic import SecretStr

from svc_pg import webhooks
from svc_pg.console import Console
from tests.integration.console.browsing import Browser, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.hooks import KEYS_TEXT, endpoint, hooks_config, install, rows, working
from tests.support.postgres import Prepare
from tests.support.raw_receiver import OK, Answer, in_a_thread
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
GIVEN = settings(encryption_keys=SecretStr(KEYS_TEXT))
PAYLOAD = {"n": 12345678901234567, "who": "א 😀 <b>&amp;\u2028", "gone": None}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OWN = {"X-Key": "hush", "accept": "application/json", "TraceParent": "of the endpoint"}
SEALED = "•••• (custom header, sealed)"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def installed(conninfo: str) -> None:
        install(conninfo, CONFIG)

    return installed


@pytest.fixture
def client(database: str) -> Iterator[httpx.Client]:
    given = settings(database_url=database, encryption_keys=SecretStr(KEYS_TEXT))
    with serving_installed(Console(given, config=CONFIG)) as client:
        yield client


def keeping(into: list[bytes], *answers: bytes) -> Answer:
    """Keep the bytes of each request, and answer with these in turn, the last again and again."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            [length] = re.findall(rb"Content-Length: (\d+)", head)
            into.append(head + await reader.readexactly(int(length)))
            writer.write(answers[min(len(into), len(answers)) - 1])
            await writer.drain()

    return answer


def shown(browser: Browser, database: str) -> tuple[str, str, str]:
    """The head and the body of the request on the page of the only delivery, and the page."""
    [delivery] = rows(database, "webhook_deliveries")
    page = browser.get(f"/deliveries/{delivery['id']}").text
    head, body = re.findall(
        r'<pre (?:id="body"|dir="ltr" tabindex="0" aria-label="Request headers")[^>]*>(.*?)</pre>', page, re.S
    )
    return unescape(head), unescape(body), page


def of_its_time(head: str) -> list[str]:
    """The lines of a head without the values that differ from attempt to attempt."""
    return [re.sub(r"(?i)^((?:x-)?webhook-(?:timestamp|signature)): .*", r"\1", line) for line in head.splitlines()]


def send(database: str) -> None:
    with psycopg.connect(database) as conn:
        webhooks.send(conn, "order.created", PAYLOAD)
        conn.execute("update svc.webhook_messages set trace_context = %s", [TRACE])


def delivered(database: str) -> bool:
    return all(row["status"] == "delivered" for row in rows(database, "webhook_deliveries"))


def test_the_page_rebuilds_what_the_receiver_got_line_by_line(client: httpx.Client, database: str) -> None:
    got: list[bytes] = []
    failing = b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"
    with in_a_thread(keeping(got, failing, OK)) as url:
        endpoint(database, CONFIG, f"{url}?a=%2F&token=hush", headers=OWN)
        send(database)
        with working(database, CONFIG):
            wait_until(lambda: delivered(database), "it is delivered at the second attempt")
    heads, bodies = zip(*(request.split(b"\r\n\r\n", 1) for request in got), strict=True)
    head, body, page = shown(signed_in(client, "write"), database)
    assert [each.decode() for each in bodies] == [body, body]
    for sent in heads:
        hidden = re.sub(r"(?m)^(X-Key|accept): .*$", rf"\1: {SEALED}", sent.decode().replace("\r\n", "\n"))
        assert of_its_time(head) == of_its_time(hidden)
    assert "hush" not in page.replace("token=hush", "")
    assert "traceparent names the span of the attempt" in page
    reader_head, _, reader_page = shown(signed_in(client, "read"), database)
    assert reader_head.startswith("POST /hook?hidden HTTP/1.1\nHost: 127.0.0.1:")
    assert "hush" not in reader_page


def test_the_panel_says_what_is_on_record_and_what_is_of_now(client: httpx.Client, database: str) -> None:
    got: list[bytes] = []
    with in_a_thread(keeping(got, OK)) as url:
        endpoint_id, _ = endpoint(database, CONFIG, url)
        send(database)
        with working(database, CONFIG):
            wait_until(lambda: delivered(database), "it is delivered")
    writer = signed_in(client, "write")
    _, body, page = shown(writer, database)
    assert "<h2>Request, rebuilt</h2>" in page
    assert "as sent" not in page
    assert "On record are the body, its length and the ids." in page
    assert "has changed since the last attempt" not in page
    with psycopg.connect(database) as conn:
        rotated = webhooks.endpoints.rotate_secret(conn, endpoint_id, settings=GIVEN)
        webhooks.endpoints.update(conn, endpoint_id, url="http://127.0.0.1:9/moved", settings=GIVEN, config=CONFIG)
    head, same_body, page = shown(writer, database)
    assert "has changed since the last attempt" in page
    assert head.startswith("POST /moved HTTP/1.1\nHost: 127.0.0.1:9\n")
    assert same_body == body
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    assert webhooks.verify_webhook_signature(headers=headers, body=body, secret=rotated.secret)


def test_the_api_says_of_each_header_if_it_is_on_record(client: httpx.Client, database: str) -> None:
    endpoint(database, CONFIG, "http://127.0.0.1:9/hook")
    send(database)
    [delivery] = rows(database, "webhook_deliveries")
    browser = signed_in(client, "write")
    bearer = {"Authorization": f"Bearer {browser.cookies['svc_console']}"}
    request = client.get(f"/webhooks/deliveries/{delivery['id']}/request", headers=bearer).json()
    recorded = {each["name"] for each in request["headers"] if each["isRecorded"]}
    assert recorded == {"X-Webhook-ID", "webhook-id", "Content-Length"}
