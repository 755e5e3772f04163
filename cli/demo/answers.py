"""The results of the demo's webhooks: one receiver answers, one fails since a while, and one is paused."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .hour import OUTAGE

PAUSED: Final = timedelta(minutes=20)
"""How long ago somebody paused the third receiver."""
_WAITS: Final = tuple(timedelta(seconds=seconds) for seconds in (0, 60, 120, 420, 1860))
"""The times of five attempts at a receiver that answers 503, counted from the first."""
_UNAVAILABLE: Final = "upstream connect error or disconnect/reset before headers\n"
_TIMED_OUT: Final = '{"error": "timed out waiting for a worker"}'
_UNKNOWN: Final = '{"error": "unknown field: total", "see": "https://developers.acme.example/orders"}'


@dataclass(frozen=True, slots=True)
class Receiver:
    """Somebody who subscribes, and the way they answer."""

    name: str
    description: str
    tenant: str | None
    events: Sequence[str]
    kind: str


RECEIVERS: Final = (
    Receiver("hooks.acme.example/orders", "Orders to Acme's shop system", "acme", ["order.*"], "good"),
    Receiver("erp.northwind.example/webhooks", "Northwind's ERP", "northwind", ["order.*"], "failing"),
    Receiver("crm.acme.example/people", "Acme's address book", "acme", ["customer.*"], "paused"),
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
        """As the table of attempts calls it."""
        return "success" if self.status_code < 300 else "http_error"

    @property
    def content_type(self) -> str:
        """The type of the body."""
        return "application/json" if self.body.startswith("{") else "text/plain"

    @property
    def server(self) -> str:
        """Who has answered: a proxy, if there is nobody behind it."""
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
    """Draws the attempts of deliveries, in the order in which these were sent."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._random = random.Random(4471)  # noqa: S311
        self._number = 0

    def of(self, receiver: Receiver, sent_at: datetime) -> Result:
        """The result of the next delivery."""
        self._number += 1
        first = sent_at + timedelta(milliseconds=self._random.randrange(4, 40))
        if receiver.kind == "failing" and sent_at > self._now - OUTAGE:
            return self._unavailable(first)
        if receiver.kind == "paused" and sent_at > self._now - PAUSED:
            return Result("pending", (), sent_at)
        if self._number == 131:
            return Result("canceled", [self._answer(first, 500, _TIMED_OUT, slow=20)])
        match self._number % 53:
            case 11 | 37:
                again = self._answer(first + timedelta(seconds=10.4), 200)
                return Result("delivered", [self._answer(first, 500, _TIMED_OUT, slow=20), again])
            case 48:
                refused = [self._answer(first + wait, 422, _UNKNOWN) for wait in _WAITS if first + wait < self._now]
                if len(refused) == len(_WAITS):
                    return Result("failed", refused)
        return Result("delivered", [self._answer(first, 200)])

    def _unavailable(self, first: datetime) -> Result:
        times = [first + wait for wait in _WAITS]
        tried = [self._answer(time, 503, _UNAVAILABLE) for time in times if time < self._now]
        coming: Iterator[datetime] = (time for time in times if time >= self._now)
        next_attempt_at = next(coming, None)
        return Result("failed" if next_attempt_at is None else "pending", tried, next_attempt_at)

    def _answer(self, started_at: datetime, status: int, body: str = "", *, slow: int = 1) -> Attempt:
        duration = round(self._random.lognormvariate(3.9, 0.5)) * slow
        return Attempt(started_at, min(duration, 9_000), status, body)
