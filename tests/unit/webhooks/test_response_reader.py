"""A response is what its bytes say, however they are split."""

import tracemalloc
from contextlib import suppress
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given, target
from hypothesis import strategies as st

from svc_pg.webhooks.http.response_reader import BrokenResponse, ResponseReader
from tests.support.raw_receiver import OK

HEAD: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

Reading = tuple[bool, int | None, list[tuple[bytes, bytes]], bytes, bool]


def reading(parts: list[bytes]) -> Reading:
    """The end of a response that came in these parts, before its connection ended, and whether it was refused."""
    reader, is_broken = ResponseReader(), False
    try:
        for part in parts:
            reader.feed(part)
            if reader.is_complete:
                break
        else:
            reader.end()
    except BrokenResponse:
        is_broken = True
    fields = reader.fields if reader.status else []
    # a byte after the 16 KiB says that there is more; the number of those after it is up to the split
    return reader.is_complete, reader.status, fields, bytes(reader.body[: 16 * 1024 + 1]), is_broken


pieces = st.sampled_from(
    [
        *(HEAD, b"HTTP/1.0 500 E\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" * 9),
        *(
            b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
            b"HTTP/1.1 204 N\r\n\r\n",
            b"\r\n\r\n",
            b"\n",
        ),
        *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"\r\n", OK),
        *(b"5\r\nabcde\r\n", b"0\r\n\r\n", b"1;extension=1\r\na\r\n", b"0\r\nTrailer: a\r\n\r\n", b"ffffffff\r\n"),
        *(
            b"Connection: close\r\n",
            b"X: a\r\n b\r\n",
            b"X: \0\r\n",
            b"Retry-After: 5\r\n",
            b"x" * 9000,
            b"x: a\r\n" * 100,
        ),
        *(
            b"X: " + b"x" * 8190 + b"\r\n",
            b"x" * 20_000,
            CHUNKED,
            b"1\r\nx\r\n" * 9000,
            b"4000\r\n" + b"x" * 0x4000 + b"\r\n",
        ),
    ]
)


@given(
    response=st.lists(pieces | st.binary(max_size=20), max_size=12).map(b"".join),
    cuts=st.lists(st.integers(0, 70_000), max_size=8),
)
def test_a_response_is_the_same_however_it_is_split(response: bytes, cuts: list[int]) -> None:
    places = sorted({0, *(cut % (len(response) + 1) for cut in cuts), len(response)})
    parts = [response[begin:end] for begin, end in pairwise(places)]
    assert reading(parts) == reading([response])


headers = st.sampled_from([b"X: a\r\n", b"X: " + b"x" * 8000 + b"\r\n", b"x" * 4000 + b": a\r\n", b"X: a\r\n b\r\n"])
chunks = st.sampled_from(
    [b"1\r\nx\r\n", b"400\r\n" + b"x" * 0x400 + b"\r\n", b"1;" + b"e" * 900 + b"\r\nx\r\n", b"x" * 999]
)
ends = st.sampled_from([b"\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Length: 999999\r\n\r\n"])


@given(
    head=st.lists(st.tuples(headers, st.integers(1, 130)), max_size=4),
    end=ends,
    body=st.lists(st.tuples(chunks | pieces, st.integers(1, 3000)), max_size=4),
    read=st.integers(1000, 65_536),
)
def test_no_response_takes_more_than_its_bounds(
    head: list[tuple[bytes, int]], end: bytes, body: list[tuple[bytes, int]], read: int
) -> None:
    whole = HEAD + b"".join(piece * times for piece, times in head) + end
    whole += b"".join(piece * min(times, 400_000 // len(piece)) for piece, times in body)
    reader, taken = ResponseReader(), 0
    with suppress(BrokenResponse):
        for begin in range(0, len(whole), read):
            if reader.is_complete:
                break
            reader.feed(whole[begin : begin + read])
            taken = begin + read
    kept = sum(len(name) + len(value) for name, value in reader.fields)
    target(float(len(reader.body)), label="bytes of the body")
    target(float(kept), label="bytes of the head")
    assert taken <= 256 * 1024 + read
    assert len(reader.fields) <= 128
    assert kept <= 64 * 1024
    assert len(reader.body) <= 16 * 1024 + read


@given(response=st.lists(pieces, max_size=4).map(b"".join).filter(lambda response: len(response) < 3000))
def test_a_response_is_the_same_byte_by_byte(response: bytes) -> None:
    assert reading([bytes([byte]) for byte in response]) == reading([response])


@pytest.mark.parametrize(
    ("response", "is_refused"),
    [
        (HEAD + b"".join(b"x: %b\r\n" % (b"a" * 8000) for _ in range(8)) + b"\r\n", False),
        (HEAD + b"".join(b"x: %b\r\n" % (b"a" * 8000) for _ in range(9)) + b"\r\n", True),
        (HEAD + b"x: " + b"a" * 8190 + b"\r\n\r\n", False),
        (HEAD + b"x: " + b"a" * 8191 + b"\r\n\r\n", True),
        (HEAD + b"x: " + b" " * 70_000 + b"\r\n\r\n", True),
        (HEAD + b"x: a\r\n" * 128 + b"\r\n", False),
        (HEAD + b"x: a\r\n" * 129 + b"\r\n", True),
        (b"HTTP/1.1 200 " + b"O" * 8190 + b"\r\n\r\n", False),
        (b"HTTP/1.1 200 " + b"O" * 8191 + b"\r\n\r\n", True),
        (b"HTTP/1.1 102 P\r\n\r\n" * 16 + OK, False),
        (b"HTTP/1.1 102 P\r\n\r\n" * 17 + OK, True),
        (b"HTTP/1.1 020 P\r\n\r\n" + OK, True),
        (CHUNKED + b"1\r\nx\r\n" * 16384 + b"0\r\n\r\n", False),
        (CHUNKED + b"1;" + b"e" * 300_000 + b"\r\nx\r\n0\r\n\r\n", True),
        (CHUNKED + b"0\r\nx: " + b"a" * 300_000 + b"\r\n\r\n", True),
        (CHUNKED + b"0\r\n" + b"x: a\r\n" * 129 + b"\r\n", True),
        (HEAD + b"\r\n" + b"x" * 16384, False),
        (HEAD + b"\r\n" + b"x" * 1_000_000, False),  # cut
    ],
    ids=range(18),
)
@pytest.mark.parametrize("size", [1000, 65_536, 2_000_000])
def test_bounds_are_exact(response: bytes, size: int, *, is_refused: bool) -> None:
    parts = [response[begin : begin + size] for begin in range(0, len(response), size)]
    is_complete, status, _, body, is_broken = reading(parts)
    assert (is_broken, is_complete) == (is_refused, not is_refused)
    assert is_broken or status == 200
    assert len(body) <= 16 * 1024 + 1


def test_a_body_in_the_smallest_chunks_takes_no_more_memory_than_one_in_a_large_one() -> None:
    reader = ResponseReader()
    tracemalloc.start()
    try:
        reader.feed(CHUNKED + b"2\r\nab\r\n" * 8000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(reader.body) == 16_000
    assert held < 64 * 1024


def test_a_bug_of_ours_is_not_taken_for_the_fault_of_a_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr("svc_pg.webhooks.http.response_reader._is_framed", fail)
    with pytest.raises(ZeroDivisionError):
        ResponseReader().feed(OK)
