"""The goals that svc-pg sets itself for webhooks, and where each is measured."""

from tests.benchmarks.delivery import claiming, latency, pipeline, sending
from tests.benchmarks.delivery.figures import Goal


def goals() -> list[Goal]:
    """In the order of the sections."""
    sends = [
        (section.title, section, *ratio)
        for section in (
            sending.section(clients, is_worker_asleep=is_worker_asleep)
            for is_worker_asleep in (False, True)
            for clients in (16, 32)
        )
        for ratio in ((0.85, sending.PLAIN), (1.8, sending.NOTIFY))
    ]
    return [
        *(
            Goal(f"{title}: times {reference}", section, sending.SEND, limit, reference=reference)
            for title, section, limit, reference in sends
        ),
        Goal("send_many: delivery rows/s", sending.BATCH, sending.SEND_MANY, 20_000),
        Goal(
            "the whole pipeline, default settings: deliveries/s",
            pipeline.PIPELINE,
            pipeline.name(*pipeline.DEFAULT),
            3_500,
        ),
        Goal("idle: ms from send to POST, p50", latency.LATENCY, latency.P50, 5, is_least=False),
        Goal("idle: ms from send to POST, p95", latency.LATENCY, latency.P95, 15, is_least=False),
        Goal("empty poll: ms", claiming.CLAIM, claiming.EMPTY, 0.6, is_least=False),
        Goal("full ring of 2,000 blocked endpoints: ms", claiming.CLAIM, claiming.BLOCKED, 10, is_least=False),
        Goal(
            "what others keep beside a dead endpoint",
            pipeline.FAIRNESS,
            pipeline.BESIDE_DEAD,
            0.8,
            reference=pipeline.ALONE,
        ),
        Goal("200 receivers that never answer: MB", pipeline.MEMORY, pipeline.TARPITS, 150, is_least=False),
    ]
