"""The sizes of a measurement, quick or full."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Setup:
    """A way to run the whole pipeline; without a concurrency the default one. ``is_slow`` answers after 100 ms."""

    title: str
    endpoints: int = 50
    max_in_flight: int = 8
    processes: int = 1
    concurrency: int | None = None
    is_slow: bool = False


DEFAULT: Final = Setup("defaults, 50 endpoints")
TWO: Final = Setup("the same, two processes", processes=2)
ONE_ENDPOINT: Final = Setup("one endpoint alone, 50 in flight", endpoints=1, max_in_flight=50)
SLOW: Final = Setup("50 endpoints that answer after 100 ms", is_slow=True)


@dataclass(frozen=True, slots=True)
class Size:
    """A size: no section begins after ``seconds``; ``is_thorough`` includes candidates that only explain others."""

    seconds: float
    is_thorough: bool
    send_rounds: int
    send_seconds: float
    batches: int
    pipelines: tuple[Setup, ...]
    pipeline_rounds: int
    deliveries: int
    latency_rounds: int
    latency_sends: int
    load_seconds: float
    finished_rows: int
    claim_rounds: int
    dead_rows: int
    fairness_rounds: int
    rate_rounds: int
    rate_seconds: int
    peer_rounds: int
    peer_jobs: int


QUICK: Final = Size(
    seconds=45,
    is_thorough=False,
    send_rounds=2,
    send_seconds=0.15,
    batches=3,
    pipelines=(DEFAULT, TWO, ONE_ENDPOINT, SLOW),
    pipeline_rounds=1,
    deliveries=2_000,
    latency_rounds=1,
    latency_sends=30,
    load_seconds=2,
    finished_rows=10_000,
    claim_rounds=1,
    dead_rows=50_000,
    fairness_rounds=1,
    rate_rounds=1,
    rate_seconds=2,
    peer_rounds=1,
    peer_jobs=1_000,
)
FULL: Final = Size(
    seconds=1_500,
    is_thorough=True,
    send_rounds=7,
    send_seconds=1,
    batches=15,
    pipelines=(
        DEFAULT,
        TWO,
        ONE_ENDPOINT,
        SLOW,
        Setup("concurrency 50", concurrency=50),
        Setup("20 in flight each", max_in_flight=20),
    ),
    pipeline_rounds=5,
    deliveries=20_000,
    latency_rounds=5,
    latency_sends=100,
    load_seconds=10,
    finished_rows=5_000_000,
    claim_rounds=5,
    dead_rows=50_000,
    fairness_rounds=5,
    rate_rounds=3,
    rate_seconds=10,
    peer_rounds=3,
    peer_jobs=10_000,
)
