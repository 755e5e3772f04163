"""Attempts of a call: which are made again, after which wait, and when it ends."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, cast

import httpx
import pytest

from svc_pg.client import (
    ApiError,
    ClientError,
    ConnectionFailedError,
    ForbiddenError,
    RateLimitedError,
    ServerError,
    UnexpectedAnswerError,
)
from svc_pg.client.attempts import Bounds, Pace, Received, attempts
from svc_pg.client.operations import Call
from svc_pg.client.problems import retry_after

READ: Final = Call("GET", "/webhooks/endpoints?tenant=acme", is_repeatable=True)
CHANGE: Final = Call("POST", "/webhooks/endpoints/1/pause")
MAKE: Final = Call("POST", "/webhooks/endpoints", is_repeatable=True)
BOUNDS: Final = Bounds(timeout=timedelta(seconds=5), patience=timedelta(seconds=60), max_attempts=3, max_bytes=1000)
LOOK: Final = "The server may have done it: look before you call again."
OK: Final = Received(200, {}, b"{}")
LOST: Final = httpx.ReadError("reset")
UNREACHED: Final = httpx.ConnectError("refused")


def problem(status: int, code: str = "x", **headers: str) -> Received:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = b'{"code": "%s", "detail": "Because.", "requestId": "r1"}' % code.encode()
    return Received(status, httpx.Headers({"content-type": "application/problem+json", **named}), body)


@dataclass
class Played:
    """A server that gives these answers, and a clock that the waits move."""

    answers: Sequence[Received | Exception]
    now: float = 0.0
    waits: list[float] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self.pace.clock = lambda: self.now
        self._left: Iterator[Received | Exception] = iter(self.answers)

    def call(self, call: Call = READ, bounds: Bounds = BOUNDS) -> Received:
        effects = attempts(call, bounds, self.pace)
        go_on: Callable[[Any], Any] = effects.send
        answer: Any = None
        while True:
            try:
                effect = go_on(answer)
            except StopIteration as end:
                return cast(Received, end.value)
            go_on, answer = effects.send, None
            if isinstance(effect, timedelta):
                self.waits.append(effect.total_seconds())
                self.now += effect.total_seconds()
            else:
                assert effect.ends_at > self.now
                answer = next(self._left)
                go_on = effects.throw if isinstance(answer, Exception) else effects.send


@pytest.mark.parametrize("failure", [LOST, UNREACHED, problem(503), problem(502), problem(504)], ids=repr)
def test_a_call_that_reads_is_made_again(failure: Received | Exception) -> None:
    played = Played([failure, failure, OK])
    assert played.call() is OK
    assert [0.25 <= wait <= 1 for wait in played.waits] == [True, True]


def test_the_attempts_have_an_end() -> None:
    played = Played([LOST] * 9)
    with pytest.raises(ConnectionFailedError, match="GET /webhooks/endpoints: reset") as failed:
        played.call()
    assert len(played.waits) == BOUNDS.max_attempts - 1
    assert failed.value.__cause__ is LOST
    assert "acme" not in str(failed.value)


@pytest.mark.parametrize(
    "failure", [UNREACHED, httpx.PoolTimeout(""), httpx.ProxyError("407"), problem(429, Retry_After="1")], ids=repr
)
def test_a_change_is_made_again_if_it_was_not_received_or_the_server_refused_to_begin(
    failure: Received | Exception,
) -> None:
    assert Played([failure, OK]).call(CHANGE) is OK


@pytest.mark.parametrize(
    "failure",
    [
        LOST,
        httpx.ReadTimeout(""),
        TimeoutError(),
        problem(502, Retry_After="1"),
        problem(503, Retry_After="1"),  # of the server too, if the commit was lost
        problem(504, Retry_After="1"),
        problem(500, Retry_After="1"),
    ],
    ids=repr,
)
def test_a_change_that_may_have_been_made_is_not_made_again(failure: Received | Exception) -> None:
    with pytest.raises(ClientError) as failed:
        Played([failure, OK]).call(CHANGE)
    assert failed.value.hint == LOOK
    assert failed.value.__notes__ == [f"hint: {LOOK}"]


@pytest.mark.parametrize("failure", [LOST, problem(503)], ids=["lost", "503"])
def test_what_is_made_by_a_key_may_have_been_made_when_all_attempts_have_failed(
    failure: Received | Exception,
) -> None:
    with pytest.raises(ClientError) as failed:
        Played([failure] * 3).call(MAKE)
    assert failed.value.hint == LOOK
    assert failed.value.__notes__ == [f"hint: {LOOK}"]
    with pytest.raises(ClientError) as failed:
        Played([failure] * 3).call(READ)
    assert failed.value.hint is None


def test_a_change_that_something_between_has_limited_is_not_made_again() -> None:
    limited = Received(429, {"retry-after": "1"}, b"<h1>Too many</h1>")
    assert Played([limited, OK]).call(READ) is OK
    with pytest.raises(RateLimitedError):
        Played([limited, OK]).call(CHANGE)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 500])
def test_a_refusal_is_final(status: int) -> None:
    played = Played([problem(status, Retry_After="1"), OK])
    with pytest.raises(ApiError) as refused:
        played.call()
    assert (refused.value.status, refused.value.code, refused.value.request_id) == (status, "x", "r1")
    assert played.waits == []


def test_the_wait_is_at_least_the_one_that_the_server_asks_for() -> None:
    played = Played([problem(429, Retry_After="7"), OK])
    assert played.call() is OK
    assert played.waits == [7]


def test_a_wait_beyond_the_patience_is_not_begun() -> None:
    played = Played([problem(429, "rate_limited", Retry_After="61"), OK])
    with pytest.raises(RateLimitedError) as refused:
        played.call()
    assert (refused.value.retry_after, played.waits) == (61, [])


def test_waits_do_not_add_up_beyond_the_patience() -> None:
    played = Played([problem(429, Retry_After="25")] * 9)
    with pytest.raises(RateLimitedError):
        played.call(bounds=Bounds(timeout=BOUNDS.timeout, patience=BOUNDS.patience, max_attempts=9, max_bytes=1))
    assert played.waits == [25, 25]


def test_a_client_whose_calls_are_used_up_waits_for_the_next_window() -> None:
    played = Played(
        [Received(200, {"ratelimit": '"calls";r=0;t=42'}), Received(200, {"ratelimit": '"calls";r=9;t=5'}), OK]
    )
    for _ in range(3):
        played.call()
    assert played.waits == [42]


def test_a_client_that_has_calls_left_waits_for_no_narrower_limit() -> None:
    played = Played([Received(200, {"ratelimit": '"calls";r=597;t=42, "pings";r=0;t=60'}), OK])
    for _ in range(2):
        played.call()
    assert played.waits == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "-1",
        "1e9",
        "9" * 400,
        "²",
        "Mon, 01 Jan 99999999999 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
    ],
)
def test_a_wait_that_is_none_is_passed_over(text: str) -> None:
    assert retry_after({"retry-after": text}) is None


def test_a_wait_may_be_a_time() -> None:
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert (retry_after({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}) or 0) > 1e9


def test_an_error_of_the_server_has_its_words_and_what_to_do() -> None:
    with pytest.raises(ForbiddenError) as refused:
        Played([problem(403, "insufficient_scope")]).call()
    assert str(refused.value) == "Because. (403 insufficient_scope, request r1)"
    assert refused.value.hint


@pytest.mark.parametrize("body", [b"<h1>hunter2</h1>", b"[1]", b"{", b'{"code": 7}', b"[" * 100_000])
def test_an_error_of_something_between_tells_nothing_of_its_body(body: bytes) -> None:
    for kind in ("text/html", "application/json"):
        with pytest.raises(ServerError) as failed:
            Played([Received(500, {"content-type": kind}, body)]).call()
        assert str(failed.value) == "The server answers 500. (500)"


def test_a_redirect_is_an_error_that_names_its_host_alone() -> None:
    moved = Received(307, {"location": "https://evil.example/?token=hunter2"})
    with pytest.raises(UnexpectedAnswerError, match=r"redirects to https://evil\.example \(307\)") as failed:
        Played([moved]).call()
    assert "hunter2" not in str(failed.value)
    for odd in ("http://[", "", "/other"):
        with pytest.raises(UnexpectedAnswerError, match=r"redirects \(301\)"):
            Played([Received(301, {"location": odd})]).call()
