"""Streams of an answer: they end whole, or with an error, and no silence lasts too long."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from svc_pg.client import AsyncClient, Client, ConnectionFailedError, UnexpectedAnswerError
from tests.support.client_answers import answer, serving
from tests.support.raw_receiver import saying, saying_and_closing


def test_a_stream_that_is_cut_is_an_error_after_what_came() -> None:
    row = b'{"id": "7", "timestamp": "2026-03-14T09:26:53Z", "tableName": "t"}\n'
    cut = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(row), row)
    with serving(saying_and_closing(cut)) as base_url, Client(base_url) as client, client.entries.export() as rows:
        assert next(rows).id == "7"
        with pytest.raises(ConnectionFailedError, match="cut before its end"):
            next(rows)


def test_the_silence_within_a_stream_has_the_bound_of_an_attempt_whatever_was_left_of_the_patience() -> None:
    requests: list[httpx.Request] = []
    bounds: dict[str, Any] = {"timeout": timedelta(seconds=9), "patience": timedelta(seconds=6)}

    async def noted(request: httpx.Request) -> None:
        requests.append(request)

    async def read(base_url: str) -> None:
        async with (
            httpx.AsyncClient(event_hooks={"request": [noted]}) as own,
            AsyncClient(base_url, http_client=own, **bounds).entries.export() as stream,
        ):
            assert [row async for row in stream] == []

    with serving(saying(answer(b"\n"))) as base_url:
        with httpx.Client(event_hooks={"request": [requests.append]}) as own:
            assert list(Client(base_url, http_client=own, **bounds).entries.export()) == []
        asyncio.run(read(base_url))
    assert [each.extensions["timeout"]["read"] for each in requests] == [9, 9]


def test_a_page_of_html_is_no_file() -> None:
    page = answer(b"<html>", "Content-Type: text/html; charset=utf-8")
    refused = pytest.raises(UnexpectedAnswerError, match="page of HTML")
    with serving(saying_and_closing(page)) as base_url, Client(base_url) as client, refused:
        list(client.entries.export_file(format="csv"))
