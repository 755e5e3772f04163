"""The goals that svc-pg sets itself for webhooks, with the section of each."""

from tests.benchmarks.delivery import claiming, latency, peers, pipeline, rates, sending
from tests.benchmarks.delivery.figures import Goal
from tests.benchmarks.delivery.sizes import DEFAULT, ONE_ENDPOINT, SLOW, TWO


def goals() -> list[Goal]:
    """The goals, in the order of the sections."""
    sends = [
        (section.title, section, *ratio)
        for section in (
            sending.section(clients, is_worker_asleep=is_worker_asleep)
            for is_worker_asleep in (False, True)
            for clients in (16, 32)
        )
        for ratio in ((0.85, sending.PLAIN), (0.85, sending.SAME_WORK), (1.8, sending.NOTIFY))
    ]
    return [
        *(
            Goal(f"{title}: times {reference}", section, sending.SEND, limit, reference=reference)
            for title, section, limit, reference in sends
        ),
        Goal("send_many: delivery rows/s", sending.BATCH, sending.SEND_MANY, 25_000),
        *(
            Goal(f"the whole pipeline, {setup.title}: deliveries/s", pipeline.PIPELINE, setup.title, limit)
            for setup, limit in ((DEFAULT, 6_000), (TWO, 8_000), (ONE_ENDPOINT, 3_000), (SLOW, 3_000))
        ),
        Goal("Python, microseconds a delivery", pipeline.WORKER, DEFAULT.title, 120, is_least=False),
        Goal("PostgreSQL, microseconds a delivery", pipeline.POSTGRES, DEFAULT.title, 100, is_least=False),
        Goal("idle: ms from send to POST, p50", latency.LATENCY, latency.P50, 5, is_least=False),
        Goal("idle: ms from send to POST, p95", latency.LATENCY, latency.P95, 15, is_least=False),
        Goal("at 1,000/s: ms from send to POST, p99", latency.LOADED, latency.P99, 30, is_least=False),
        Goal("empty poll: ms", claiming.CLAIM, claiming.EMPTY, 0.6, is_least=False),
        Goal("10,000 endpoints that may not be called: ms", claiming.CLAIM, claiming.BLOCKED, 5, is_least=False),
        Goal(
            "what others keep beside a dead endpoint",
            pipeline.FAIRNESS,
            pipeline.BESIDE_DEAD,
            0.8,
            reference=pipeline.ALONE,
        ),
        Goal("200 receivers that never answer: MB", pipeline.MEMORY, pipeline.TARPITS, 100, is_least=False),
        *(
            goal
            for name in map(rates.title, rates.PROCESSES)
            for goal in (
                Goal(f"{name}: POSTs of the busiest second", rates.BUSIEST, name, rates.MOST, is_least=False),
                Goal(f"{name}: POSTs/s of the rate {rates.RATE}", rates.REACHED, name, 0.95 * rates.RATE),
            )
        ),
        *(Goal(f"sign and POST: times {peer}", peers.WORK, peers.SVC, 1, reference=peer) for peer in peers.PEERS),
    ]
