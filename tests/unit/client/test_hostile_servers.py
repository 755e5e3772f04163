"""Whatever a server answers, a call ends with its answer or an error, within its bounds."""

import asyncio
import gzip
import logging
import pickle
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any, Final

import httpx
import pytest

from svc_pg.client import AsyncClient, CallError, Client, ClientError, ConnectionFailedError, UnexpectedAnswerError
from tests.support.client_answers import EMPTY, answer, serving
from tests.support.raw_receiver import Answer, dripping, flooding, saying, saying_and_closing, silence

TOKEN: Final = "svcpg_hunter2"
SHORT: Final = timedelta(milliseconds=300)


def sync(base_url: str, **options: Any) -> None:
    with Client(base_url, token=TOKEN, max_attempts=1, **options) as client:
        client.endpoints.list()


def in_asyncio(base_url: str, **options: Any) -> None:
    async def call() -> None:
        async with AsyncClient(base_url, token=TOKEN, max_attempts=1, **options) as client:
            await client.endpoints.list()

    asyncio.run(call())


@pytest.fixture(params=[sync, in_asyncio])
def call(request: pytest.FixtureRequest) -> Callable[..., None]:
    found: Callable[..., None] = request.param
    return found


def failure(call: Callable[..., None], behaviour: Answer, **options: Any) -> ClientError:
    with serving(behaviour) as base_url, pytest.raises(ClientError) as failed:
        call(base_url, **options)
    assert "hunter2" not in "".join(traceback.format_exception(failed.value))
    return failed.value


def test_an_answer_is_read(call: Callable[..., None]) -> None:
    with serving(saying(answer(EMPTY))) as base_url:
        call(base_url)
    with serving(saying(answer(EMPTY, "Content-Encoding: identity"))) as base_url:
        call(base_url)


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (answer(b"<html>Sign in</html>", "Content-Type: text/html"), "does not fit"),
        (answer(b'{"data": 7}'), "does not fit"),
        (answer(b""), "does not fit"),
        (answer(EMPTY, "Content-Encoding: br"), "'br', which was not asked for"),
        (answer(gzip.compress(EMPTY), "Content-Encoding: gzip"), "'gzip', which was not asked for"),
        (answer(EMPTY, "Content-Encoding: identity, deflate"), "'identity, deflate', which was not asked for"),
        (answer(b"x" * 2000), "more than 1,000 bytes"),
        (answer(b"", "Location: http://127.0.0.1:1/", status="302 Found"), "redirects to http://127.0.0.1"),
        (answer(b"", "Location: https://xn--a/", status="302 Found"), "redirects to what is no address"),
        (answer(b"", "Location: mailto:x", status="302 Found"), "redirects to what is no address"),
        (answer(b"", status="304 Not Modified"), "redirects"),
    ],
)
def test_an_answer_that_is_none_of_the_api_is_an_error(call: Callable[..., None], response: bytes, words: str) -> None:
    failed = failure(call, saying_and_closing(response), max_bytes=1000)
    assert isinstance(failed, UnexpectedAnswerError)
    assert words in str(failed)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ],
)
def test_an_answer_that_is_cut_is_an_error(call: Callable[..., None], response: bytes) -> None:
    assert isinstance(failure(call, saying_and_closing(response)), ConnectionFailedError)


@pytest.mark.parametrize(
    "behaviour",
    [
        silence,
        dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
        dripping(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
)
def test_a_server_that_does_not_come_to_an_end_is_left(call: Callable[..., None], behaviour: Answer) -> None:
    failed = failure(call, behaviour, timeout=SHORT, patience=2 * SHORT)
    assert isinstance(failed, ConnectionFailedError)
    assert "no answer in time" in str(failed)


@pytest.mark.parametrize("drop", [b"X: y\r\n", b"\r\nHTTP/1.1 103 Early Hints\r\n"])
def test_in_asyncio_the_head_of_an_answer_has_an_end_too(drop: bytes) -> None:
    failed = failure(in_asyncio, dripping(b"HTTP/1.1 103 Early Hints\r\n", drop), patience=SHORT)
    assert "no answer in time" in str(failed)


def test_a_flood_is_left(call: Callable[..., None]) -> None:
    flood = flooding(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"[")
    assert "more than 33,554,432 bytes" in str(failure(call, flood))


@pytest.mark.parametrize("read", [lambda client: client.endpoints.list(), lambda client: list(client.entries.export())])
def test_no_answer_is_compressed_or_bytes_that_unpack_to_nothing_would_have_no_bound(
    read: Callable[[Client], object],
) -> None:
    asked: list[bytes] = []
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999999999\r\n\r\n"
    flood = flooding(head + gzip.compress(b""), b"\0")  # what follows the end of a file of gzip

    async def compressed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        header = await reader.readuntil(b"\r\n\r\n")
        asked.append(header)
        reader.feed_data(header)
        await flood(reader, writer)

    refused = pytest.raises(UnexpectedAnswerError, match="'gzip', which was not asked for")
    with serving(compressed) as base_url, Client(base_url) as client, refused:
        read(client)
    assert b"\r\naccept-encoding: identity\r\n" in asked[0].lower()


def test_no_server_is_a_clear_error(call: Callable[..., None]) -> None:
    with pytest.raises(ConnectionFailedError) as failed:
        call("http://127.0.0.1:1")
    assert failed.value.hint == "Is base_url right, and is the server up?"
    assert pickle.loads(pickle.dumps(failed.value)).hint == failed.value.hint


def test_a_token_goes_nowhere_but_to_its_server(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[bytes] = []

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer(EMPTY))

    with serving(elsewhere) as other:
        moved = answer(b"", f"Location: {other}/", "Set-Cookie: a=b", status="307 Temporary Redirect")
        with serving(saying(moved)) as base_url:
            own = httpx.Client(follow_redirects=True)
            with closing(own), pytest.raises(UnexpectedAnswerError, match="redirects"):
                Client(base_url, token=TOKEN, http_client=own).endpoints.list()
    assert seen == []
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"], ids=["this machine", "another one"])
def test_a_token_goes_to_no_proxy_of_the_environment_unencrypted(
    call: Callable[..., None], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(65536))

    with serving(proxy) as proxy_url, serving(saying(answer(EMPTY))) as base_url:
        for name in ("http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy_url)
            monkeypatch.setenv(name.upper(), proxy_url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        call(base_url.replace("127.0.0.1", host), allow_http=True)
    assert seen == []


def test_a_list_that_never_ends_is_left() -> None:
    same = b'{"data": [], "nextCursor": "again"}'
    never = pytest.raises(UnexpectedAnswerError, match="the list would never end")
    with serving(saying(answer(same))) as base_url, Client(base_url) as client, never:
        list(client.endpoints.iterate())


def test_a_client_that_is_closed_says_so() -> None:
    client = Client("https://shop.example")
    client.close()
    with pytest.raises(CallError, match="closed"):
        client.endpoints.list()
