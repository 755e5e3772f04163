"""How much is measured, quickly or in full."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Size:
    """No section begins after ``seconds``; ``is_thorough`` takes those candidates in that only explain others."""

    seconds: float
    is_thorough: bool
    send_rounds: int
    send_seconds: float
    batches: int
    pipelines: tuple[tuple[int, int, int], ...]  # concurrency, endpoints, max_in_flight
    pipeline_rounds: int
    deliveries: int
    latency_rounds: int
    latency_sends: int
    finished_rows: int
    claim_rounds: int
    dead_rows: int
    fairness_rounds: int
    peer_rounds: int
    peer_jobs: int


QUICK: Final = Size(
    seconds=28,
    is_thorough=False,
    send_rounds=2,
    send_seconds=0.15,
    batches=3,
    pipelines=((50, 50, 8),),
    pipeline_rounds=1,
    deliveries=1_200,
    latency_rounds=1,
    latency_sends=30,
    finished_rows=10_000,
    claim_rounds=1,
    dead_rows=50_000,
    fairness_rounds=1,
    peer_rounds=1,
    peer_jobs=200,
)
FULL: Final = Size(
    seconds=600,
    is_thorough=True,
    send_rounds=7,
    send_seconds=1,
    batches=15,
    pipelines=((50, 50, 8), (50, 1, 50), (100, 50, 8), (200, 50, 8), (200, 50, 32)),
    pipeline_rounds=5,
    deliveries=10_000,
    latency_rounds=5,
    latency_sends=100,
    finished_rows=1_000_000,
    claim_rounds=5,
    dead_rows=50_000,
    fairness_rounds=5,
    peer_rounds=3,
    peer_jobs=3_000,
)
