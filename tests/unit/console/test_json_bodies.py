import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from starlette.datastructures import Headers

from svc_pg.console.http.body import MAX_DEPTH, parse_json, read_content
from svc_pg.console.http.requests import Problem
from svc_pg.formats.json_writer import encode


def read(*chunks: bytes, content_type: str | None = "application/json", encoding: str | None = None) -> JsonValue:
    headers = {"content-type": content_type, "content-encoding": encoding}

    async def arriving() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    present = Headers({name: value for name, value in headers.items() if value is not None})
    return parse_json(asyncio.run(read_content(present, arriving(), max_bytes=1000)))


def status_of(*chunks: bytes, content_type: str | None = "application/json", encoding: str | None = None) -> int:
    with pytest.raises(Problem) as refusal:
        read(*chunks, content_type=content_type, encoding=encoding)
    return refusal.value.status


def test_a_body_may_arrive_in_pieces_that_split_a_character() -> None:
    assert read(b'{"name": "\xc3', b'\xa9"}') == {"name": "é"}


def test_no_body_is_none_and_needs_no_media_type() -> None:
    assert read(content_type=None) is None


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']
)
def test_json_in_utf_8_is_accepted(content_type: str) -> None:
    assert read(b"1", content_type=content_type) == 1


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
        "application/json; charset=utf-16",
    ],
)
def test_another_media_type_is_415(content_type: str | None) -> None:
    assert status_of(b"1", content_type=content_type) == 415


def test_a_compressed_body_is_415() -> None:
    assert status_of(b"1", encoding="gzip") == 415


def test_one_byte_too_many_is_413() -> None:
    assert read(b"1" + b" " * 999) == 1
    assert status_of(b"1" + b" " * 999, b" ") == 413


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nul",
        b"'a'",
        b"NaN",
        b"Infinity",
        b"[-Infinity]",
        b"1e999",
        b"-1e999",
        b"9" * 900 + b"x",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "\\u0062": 2}}',
        b'"\xff"',
        b'"\\ud800"',
        b'{"\\udfff": 1}',
        b"\xef\xbb\xbf1",
        '"a"'.encode("utf-16"),
        b" ",
    ],
)
def test_what_is_not_unambiguous_json_in_utf_8_is_400(body: bytes) -> None:
    assert status_of(body) == 400


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_deep_nesting_is_400(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    assert read(opening * MAX_DEPTH + b"1" + closing * MAX_DEPTH)
    assert status_of(opening * (MAX_DEPTH + 1) + b"1" + closing * (MAX_DEPTH + 1)) == 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(json_values)
def test_what_is_written_can_be_read(value: JsonValue) -> None:
    document = encode(value)
    assert len(document) > 1000 or read(document) == value
