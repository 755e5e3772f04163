"""The time of an event from the sender to the receiver, without other work and under a steady load."""

import json
import random
import time
from statistics import median, quantiles
from typing import Final

import psycopg

from tests.benchmarks.delivery import paced, receivers, stage
from tests.benchmarks.delivery.figures import Figures, Section
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server
from tests.support.waiting import wait_until

LATENCY: Final = Section(
    "idle: from the call of svc.send to the POST at the receiver",
    "ms",
    "a transaction each, after a pause of 50 to 100 ms; the sender, the worker and the receiver are processes",
)
LOADED: Final = Section(
    "1,000 sends/s: from the call of svc.send to the POST at the receiver",
    "ms",
    "a transaction each, in turn to 50 endpoints",
)
SENT: Final = Section("1,000 sends/s: what was sent", "sends/s")
P50: Final = "p50"
P95: Final = "p95"
P99: Final = "p99"
WORST: Final = "worst"
_SEND: Final = "select svc.send(%s, %s)"
_PAUSE_MS: Final = (50, 100)
_WARM_UP: Final = 5
_RATE: Final = 1_000
_ENDPOINTS: Final = 50
_CLIENTS: Final = 16


def measure(figures: Figures, server: Server, size: Size) -> None:
    """Measure a number of sends a round, without the first ones, which open connections and compile."""
    with receivers.counting() as receiver, server.database() as database:
        stage.add_endpoints(database, f"{receiver.url}/ok")
        with stage.worker(database) as worker, psycopg.connect(database, autocommit=True, prepare_threshold=0) as conn:
            worker.wait_until_asleep(database)
            _delays(conn, receiver, sends=_WARM_UP)
            for _ in range(size.latency_rounds):
                delays = _delays(conn, receiver, sends=size.latency_sends)
                figures.add(LATENCY, P50, median(delays))
                figures.add(LATENCY, P95, quantiles(delays, n=20)[-1])
                figures.add(LATENCY, WORST, max(delays))


def measure_load(figures: Figures, server: Server, size: Size) -> None:
    """Measure a number of seconds a round, without the first one, which opens connections and compiles."""
    with receivers.counting() as receiver, server.database() as database:
        stage.add_endpoints(database, f"{receiver.url}/ok", count=_ENDPOINTS, is_tenants=True)
        with stage.worker(database) as worker:
            worker.wait_until_asleep(database)
            for number in range(size.latency_rounds + 1):
                seconds = size.load_seconds if number else 1
                started = time.perf_counter()
                paced.send(database, rate=_RATE, sends=round(_RATE * seconds), clients=_CLIENTS, tenants=_ENDPOINTS)
                elapsed = time.perf_counter() - started
                delays = _arrived(receiver, sends=round(_RATE * seconds))
                if number:
                    figures.add(SENT, "svc.send", _RATE * seconds / elapsed)
                    figures.add(LOADED, P50, median(delays))
                    figures.add(LOADED, P99, quantiles(delays, n=100)[-1])
                    figures.add(LOADED, WORST, max(delays))


def _delays(conn: psycopg.Connection, receiver: receivers.Receiver, *, sends: int) -> list[float]:
    for _ in range(sends):
        time.sleep(random.uniform(*_PAUSE_MS) / 1000)  # the worker is asleep again
        conn.execute(_SEND, (stage.EVENT, json.dumps({"sent": time.monotonic_ns()})))
    return _arrived(receiver, sends=sends)


def _arrived(receiver: receivers.Receiver, *, sends: int) -> list[float]:
    delays: list[float] = []

    def have_arrived() -> bool:
        delays.extend(receiver.counts().delays_ms)
        return len(delays) == sends

    wait_until(have_arrived, "everything has arrived")
    return delays
