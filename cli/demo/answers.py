"""The results of the demo's webhooks: one receiver answers, one has been failing for a while, and one is paused."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .hour import OUTAGE, PAUSED, PAUSED_RECEIVER
from .outage import Outage, outage

_REFUSED: Final = tuple(timedelta(seconds=seconds) for seconds in (0, 0.3, 60.3, 360.3, 2160.3))
"""The times of five attempts by the demo's configuration, counted from the first."""
_UNAVAILABLE: Final = "upstream connect error or disconnect/reset before headers\n"
_TIMED_OUT: Final = '{"error": "timed out waiting for a worker"}'
_UNKNOWN: Final = '{"error": "unknown field: total", "see": "https://developers.acme.example/orders"}'


@dataclass(frozen=True, slots=True)
class Receiver:
    """A subscriber, and the way it answers."""

    name: str
    description: str
    tenant: str | None
    events: Sequence[str]
    kind: str


RECEIVERS: Final = (
    Receiver("hooks.acme.example/orders", "Orders to Acme's shop system", "acme", ["order.*"], "good"),
    Receiver("erp.northwind.example/webhooks", "Northwind's ERP", "northwind", ["order.*"], "failing"),
    Receiver("crm.acme.example/people", PAUSED_RECEIVER, "acme", ["customer.*"], "paused"),
    Receiver("books.tidewater.example/in", "Our own bookkeeping", None, ["order.paid", "order.canceled"], "good"),
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, and the answer to it."""

    started_at: datetime
    duration_ms: int
    status_code: int
    body: str

    @property
    def outcome(self) -> str:
        """The outcome, as in the table of attempts."""
        return "success" if self.status_code < 300 else "http_error"

    @property
    def content_type(self) -> str:
        """The type of the body."""
        return "application/json" if self.body.startswith("{") else "text/plain"

    @property
    def server(self) -> str:
        """The name of the server that answered: a proxy, if there is no server behind it."""
        return "envoy" if self.status_code == 503 else "nginx"

    @property
    def ended_at(self) -> datetime:
        """The time of its answer."""
        return self.started_at + timedelta(milliseconds=self.duration_ms)


@dataclass(frozen=True, slots=True)
class Result:
    """The state of a delivery after its attempts."""

    status: str
    attempts: Sequence[Attempt]
    next_attempt_at: datetime | None = None


class Answers:
    """Draws the attempts of deliveries, in the order of sending."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._random = random.Random(4471)  # noqa: S311

    def to(self, sent: Sequence[tuple[Receiver, datetime]]) -> tuple[list[Result], Outage]:
        """The results of all deliveries, and the outage of the failing receiver."""
        results: dict[int, Result] = {}
        failing: dict[int, datetime] = {}
        for number, (receiver, sent_at) in enumerate(sent):
            first = sent_at + timedelta(milliseconds=self._random.randrange(4, 40))
            if receiver.kind == "failing" and sent_at > self._now - OUTAGE:
                failing[number] = first
            elif receiver.kind == "paused" and sent_at > self._now - PAUSED:
                results[number] = Result("pending", (), sent_at)
            else:
                results[number] = self._result(number, first)
        failed = outage(list(failing.values()), now=self._now)
        for number, times, coming in zip(failing, failed.attempts, failed.next_attempt_at, strict=True):
            tried = [self._answer(time, 503, _UNAVAILABLE) for time in times]
            results[number] = Result("failed" if coming is None else "pending", tried, coming)
        return [results[number] for number in range(len(sent))], failed

    def _result(self, number: int, first: datetime) -> Result:
        if number == 131:
            return Result("canceled", [self._answer(first, 500, _TIMED_OUT, slow=20)])
        if number % 53 in (11, 37):
            slow = self._answer(first, 500, _TIMED_OUT, slow=20)
            again = self._answer(slow.ended_at + timedelta(seconds=0.3), 200)
            return Result("delivered", [slow, again])
        if number % 53 == 48:
            refused = [self._answer(first + wait, 422, _UNKNOWN) for wait in _REFUSED if first + wait < self._now]
            if len(refused) == len(_REFUSED):
                return Result("failed", refused)
        return Result("delivered", [self._answer(first, 200)])

    def _answer(self, started_at: datetime, status: int, body: str = "", *, slow: int = 1) -> Attempt:
        duration = round(self._random.lognormvariate(3.9, 0.5)) * slow
        return Attempt(started_at, min(duration, 9_000), status, body)
