"""The part of a response that is kept: always within bounds, always storable."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg.webhooks.http.response import kept_body, kept_headers, parse_retry_after

LIMIT = 16 * 1024

bytes_in_bulk = st.builds(lambda unit, times: unit * times, st.binary(), st.integers(0, 20_000)).map(
    lambda b: b[:20_000]
)


@given(raw=bytes_in_bulk)
@example(raw=b"\xff" * LIMIT)
@example(raw=b"\0" * (LIMIT + 1))
def test_a_kept_body_fits_and_has_no_nul(raw: bytes) -> None:
    body, truncated = kept_body(raw)
    assert len(body.encode()) <= LIMIT
    assert "\0" not in body
    assert truncated or len(raw) <= LIMIT


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_short_body_is_kept_whole(text: str) -> None:
    assert kept_body(text.encode()) == (text, False)


def test_a_body_at_the_limit_is_whole_and_one_byte_more_is_cut() -> None:
    assert kept_body(b"a" * LIMIT) == ("a" * LIMIT, False)
    assert kept_body(b"a" * (LIMIT + 1)) == ("a" * LIMIT, True)
    assert kept_body(b"\xff" * LIMIT)[1]


@given(raw=st.lists(st.tuples(st.binary(), bytes_in_bulk)))
def test_kept_headers_fit_and_have_no_nul(raw: list[tuple[bytes, bytes]]) -> None:
    headers = kept_headers(raw)
    assert len(headers) <= 32
    assert sum(len(text.encode()) for header in headers.items() for text in header) <= 8 * 1024
    assert not any("\0" in text for header in headers.items() for text in header)


def test_repeated_headers_are_joined() -> None:
    assert kept_headers([(b"Via", b"a"), (b"X", b"\xff"), (b"via", b"b")]) == {"via": "a, b", "x": "\ufffd"}


def test_a_header_that_is_too_large_does_not_displace_others() -> None:
    assert kept_headers([(b"a", b"1"), (b"b", b"2" * 9000), (b"c", b"3")]) == {"a": "1", "c": "3"}


def test_cookies_are_not_kept() -> None:
    assert kept_headers([(b"Set-Cookie", b"session=secret"), (b"a", b"1")]) == {"a": "1"}


@pytest.mark.parametrize(
    ("value", "seconds"), [("1", 1), ("120", 120), ("999999999", 999_999_999), ("0" * 20 + "5", 5)]
)
def test_retry_after_may_be_seconds(value: str, seconds: int) -> None:
    assert parse_retry_after(value) == timedelta(seconds=seconds)


@pytest.mark.parametrize("digits", [10, 20, 5000])
def test_a_retry_after_of_very_many_seconds_is_a_long_wait(digits: int) -> None:
    assert (parse_retry_after("9" * digits) or timedelta(0)) > timedelta(days=365)


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
def test_retry_after_may_be_a_date(zone: str) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)
    wait = parse_retry_after(format_datetime(moment).replace("+0000", zone))
    assert wait is not None
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)


def test_a_date_in_the_year_9999_is_a_long_wait() -> None:
    assert (parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT") or timedelta(0)) > timedelta(days=365)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "0",
        "-1",
        "1.5",
        "1e3",
        "\u0661",
        "0" * 20,
        "soon",
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "0 Jan 0 0:0:0",
        f"1 Jan {10**20} 0:0:0",
    ],
)
def test_anything_else_is_no_retry_after(value: str) -> None:
    assert parse_retry_after(value) is None


dates = st.from_regex(
    r"(Fri, )?[0-9]{1,3} [A-Z][a-z]{2} -?[0-9]{1,6} [0-9]{1,3}(:[0-9]{1,4}){0,3} ?[-+A-Z]{0,2}[0-9]{0,9}"
)


@given(value=st.text(st.characters()) | dates)  # with surrogates, as of bytes outside ASCII
def test_any_text_is_a_wait_or_nothing(value: str) -> None:
    wait = parse_retry_after(value)
    assert wait is None or wait > timedelta(0)
