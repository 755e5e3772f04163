"""A model of deliveries and endpoints after each action, for tests, written from the design alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal
from uuid import UUID

Refused = Literal["refused"]
Record = tuple[int, str, str]
"""The number of an attempt, its cause and its outcome."""

OPENS_AT = 10
MOST_LOST = 20


@dataclass
class Endpoint:
    """An endpoint. ``breaker`` is half-open once its time has passed; ``status`` is None if it was deleted.

    ``is_throttled`` during a wait that its receiver asked for.

    The next claim looks at a noted endpoint, also if no delivery of it is due.
    """

    id: UUID
    max_in_flight: int
    status: str | None = "active"
    is_noted: bool = False
    streak: int = 0
    breaker: Literal["closed", "open", "half-open"] = "closed"
    breaker_count: int = 0
    is_throttled: bool = False

    @property
    def is_closed(self) -> bool:
        """True if its due deliveries are canceled."""
        return self.status in (None, "disabled")


@dataclass
class Delivery:
    """A delivery. ``due`` is its position among due ones, None before its time. A lease may have ended and still exist.

    ``attempts`` are the ended ones, without one under way.
    """

    id: UUID
    endpoint: Endpoint
    due: int | None
    max_attempts: int
    status: str = "pending"
    attempts: int = 0
    lost: int = 0
    throttled: int = 0
    manual_attempt: int | None = None
    lease: UUID | None = None
    is_under_way: bool = False
    records: list[Record] = field(default_factory=list)

    def seen(self) -> tuple[object, ...]:
        """The expected row in the database."""
        counts = (self.attempts, self.lost, self.throttled, self.max_attempts)
        return (self.status, *counts, self.lease, sorted(self.records))

    @property
    def is_at_its_last(self) -> bool:
        """True if no attempt is left after the one under way."""
        return self.counted + 1 >= self.max_attempts

    @property
    def counted(self) -> int:
        """The attempts that count, without lost and throttled ones."""
        return self.attempts - self.lost - self.throttled

    @property
    def waits_for_its_time(self) -> bool:
        """True if it waits for its next attempt, or for the end of a delay."""
        return self.status == "pending" and self.due is None and self.lease is None and not self.is_under_way

    def record(self, outcome: str) -> None:
        self.attempts += 1
        cause = "manual" if self.attempts == self.manual_attempt else "auto"
        self.records.append((self.attempts, cause, outcome))

    def finish(self, status: str) -> None:
        self.status, self.due, self.lease, self.is_under_way = status, None, None, False

    def lose(self) -> None:
        """Record the attempt of an ended lease as lost."""
        if self.lease is not None:
            self.record("lost")
            self.lost += 1
            self.lease = None


@dataclass
class Model:
    """All endpoints, deleted ones too, and all deliveries, by id."""

    endpoints: dict[UUID, Endpoint] = field(default_factory=dict)
    deliveries: dict[UUID, Delivery] = field(default_factory=dict)
    clock: Iterable[int] = field(default_factory=count)

    def now(self) -> int:
        """A time later than all before."""
        return next(iter(self.clock))

    def of(self, endpoint: Endpoint) -> list[Delivery]:
        """The endpoint's deliveries, oldest first."""
        return sorted((d for d in self.deliveries.values() if d.endpoint is endpoint), key=lambda d: d.id)

    def under_way(self, endpoint: Endpoint) -> int:
        return sum(d.is_under_way for d in self.of(endpoint))

    def receivers(self) -> list[Endpoint]:
        """The endpoints that get a message."""
        return [endpoint for endpoint in self.endpoints.values() if not endpoint.is_closed]

    def claim(self, *, batch: int, after: UUID | None) -> list[Delivery]:
        """The deliveries that a claim returns, in any order: once round from ``after``, then again until it is full.

        It looks at as many endpoints as its batch first, then at 64 at a time.
        """
        claimed = self._return_lost()
        for endpoint in self.endpoints.values():
            if endpoint.is_noted and endpoint.is_closed:
                self._cancel_waiting(endpoint)
            endpoint.is_noted = False
        found = len(claimed)
        size = batch
        everyone = sorted(self.endpoints.values(), key=lambda endpoint: endpoint.id)
        for visited in ([e for e in everyone if after is None or e.id > after], everyone if after is not None else []):
            due = [e for e in visited if self._due(e)]
            while due:
                window, due, size = due[:size], due[size:], 64
                claimed += self._claim_of(window, batch=batch - len(claimed) + found)
                if len(claimed) - found >= batch:
                    return claimed
            size = 64
        return claimed

    def _return_lost(self) -> list[Delivery]:
        """Make deliveries with ended leases due, at once the first time, later after that; return those that fail."""
        now, failed = self.now(), []
        for delivery in self.deliveries.values():
            if delivery.lease is not None and not delivery.is_under_way:
                delivery.lose()
                delivery.due = now if delivery.lost == 1 else None
                if delivery.lost >= MOST_LOST:
                    delivery.finish("failed")
                    failed.append(delivery)
        return failed

    def _claim_of(self, endpoints: Sequence[Endpoint], *, batch: int) -> list[Delivery]:
        for endpoint in endpoints:
            if endpoint.is_closed:
                self._cancel_waiting(endpoint)
        open_ones = [(endpoint, self._room(endpoint)) for endpoint in endpoints if self._due(endpoint)]
        picked = [delivery for endpoint, room in open_ones for delivery in self._due(endpoint)[: max(room, 0)]]
        for delivery in picked[:batch]:
            delivery.due, delivery.is_under_way = None, True
        return picked[:batch]

    def acknowledge(self, answers: Sequence[tuple[Delivery, UUID, str]]) -> set[UUID]:
        """Apply dispositions under these leases; return the deliveries that still had their lease."""
        accepted = [(delivery, disposition) for delivery, lease, disposition in answers if delivery.lease == lease]
        now = self.now()
        for delivery, disposition in accepted:
            delivery.lease, delivery.is_under_way = None, False
            if disposition != "released":
                delivery.record("success" if disposition == "delivered" else "http_error")
            if disposition in ("released", "retry at once") or (disposition == "retry" and delivery.endpoint.is_closed):
                delivery.due = now
            elif disposition == "throttled":
                delivery.throttled += 1
                delivery.due = now if delivery.endpoint.is_closed else None
            elif disposition == "retry":
                delivery.due = None  # even if its lease had ended, and it was due to be lost
            else:
                delivery.finish("canceled" if disposition == "gone" else disposition)
        for endpoint in {delivery.endpoint.id: delivery.endpoint for delivery, _ in accepted}.values():
            told = [
                disposition
                for delivery, disposition in accepted
                if delivery.endpoint is endpoint and disposition != "released"
            ]
            self._judge(endpoint, told)
            if "gone" in told and not endpoint.is_closed:
                self.set_status(endpoint, "disabled")
        return {delivery.id for delivery, _ in accepted}

    def set_status(self, endpoint: Endpoint, status: str) -> None:
        """Set the status; ``active`` forgets the failures, even if it was active already."""
        if status == "active":
            endpoint.streak, endpoint.breaker, endpoint.breaker_count = 0, "closed", 0
            endpoint.is_throttled = False
            if endpoint.status == "disabled":
                for delivery in self.of(endpoint):
                    if delivery.status == "pending" and not delivery.is_under_way:
                        delivery.lose()
                        delivery.finish("canceled")
        elif status == "disabled" and endpoint.status != status:
            self._cancel_waiting(endpoint)
        endpoint.status, endpoint.is_noted = status, True

    def delete(self, endpoint: Endpoint) -> None:
        endpoint.status, endpoint.is_noted = None, True
        self._cancel_waiting(endpoint)

    def cancel(self, delivery: Delivery) -> Refused | None:
        if delivery.status != "pending" or delivery.is_under_way:
            return "refused"
        delivery.lose()
        delivery.finish("canceled")
        return None

    def retry(self, *deliveries: Delivery) -> Refused | None:
        chosen = [
            d
            for d in deliveries
            if (d.status in ("failed", "canceled") or d.waits_for_its_time) and not d.endpoint.is_closed
        ]
        now = self.now()
        for delivery in chosen:
            delivery.status, delivery.due = "pending", now
            delivery.manual_attempt = delivery.attempts + 1
            delivery.max_attempts = max(delivery.max_attempts, delivery.counted + 1)
        return None if chosen else "refused"

    def recover(self, endpoint: Endpoint) -> None:
        """Retry the endpoint's deliveries, except those that wait for a delayed first attempt."""
        self.retry(*[delivery for delivery in self.of(endpoint) if delivery.status != "pending" or delivery.attempts])

    def _due(self, endpoint: Endpoint) -> list[Delivery]:
        """The due deliveries, in the order of claims."""
        return sorted(
            (d for d in self.of(endpoint) if d.status == "pending" and d.due is not None), key=lambda d: (d.due, d.id)
        )

    def _room(self, endpoint: Endpoint) -> int:
        if endpoint.status != "active" or endpoint.breaker == "open" or endpoint.is_throttled:
            return 0
        limit = 1 if endpoint.breaker == "half-open" else endpoint.max_in_flight
        return limit - self.under_way(endpoint)

    def _judge(self, endpoint: Endpoint, dispositions: Sequence[str]) -> None:
        """The health of an endpoint after a batch: one success counts for more than any number of failures."""
        if not dispositions or endpoint.status is None:
            return
        endpoint.is_throttled |= "throttled" in dispositions
        if "delivered" in dispositions:
            endpoint.streak, endpoint.breaker, endpoint.breaker_count = 0, "closed", 0
            return
        failures = sum(disposition != "throttled" for disposition in dispositions)
        if not failures:
            return
        endpoint.streak += failures
        if endpoint.breaker == "half-open":
            endpoint.breaker, endpoint.breaker_count = "open", endpoint.breaker_count + 1
        elif endpoint.breaker == "closed" and endpoint.streak >= OPENS_AT:
            endpoint.breaker = "open"

    def _cancel_waiting(self, endpoint: Endpoint) -> None:
        """Cancel waiting deliveries; those with a lease, also an ended one, are handled later."""
        for delivery in self.of(endpoint):
            if delivery.status == "pending" and delivery.lease is None:
                delivery.finish("canceled")
