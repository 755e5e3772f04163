"""The rate of an endpoint, measured where it was agreed: at the receiver, with one to four worker processes."""

from contextlib import ExitStack
from datetime import timedelta
from typing import Final

from tests.benchmarks.delivery import receivers, stage
from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server
from tests.support.waiting import wait_until

RATE: Final = 100
MOST: Final = 1.03 * RATE + 1  # with the attempts that may begin at once
PROCESSES: Final = (1, 2, 4)
BUSIEST: Final = Section(
    f"rate_per_second = {RATE}: the busiest second at the receiver",
    "POSTs",
    "wherever the second begins; an attempt may take longer on its way than the next one, so it may exceed the rate",
)
REACHED: Final = Section(f"rate_per_second = {RATE}: from the first POST to the last", "POSTs/s")


def measure(figures: Figures, server: Server, size: Size) -> None:
    """Deliver a full queue to one endpoint that has a rate."""
    for number in range(size.rate_rounds):
        for processes in turns(PROCESSES, number):
            _measure(figures, server, processes, seconds=size.rate_seconds)


def title(processes: int) -> str:
    """The candidate of this number of worker processes."""
    return "1 worker process" if processes == 1 else f"{processes} worker processes"


def _measure(figures: Figures, server: Server, processes: int, *, seconds: int) -> None:
    deliveries = RATE * seconds
    with ExitStack() as stack:
        receiver = stack.enter_context(receivers.counting())
        database = stack.enter_context(server.database())
        stage.add_endpoints(database, f"{receiver.url}/ok", rate_per_second=RATE, max_in_flight=RATE)
        stage.fill(database, endpoints=1, deliveries=deliveries)
        worker = stack.enter_context(stage.worker(database, processes=processes))

        def is_delivered() -> bool:
            worker.check()
            return receiver.counts().deliveries == deliveries

        wait_until(is_delivered, "everything is delivered", limit=timedelta(minutes=2))
        counts = receiver.counts()
    figures.add(BUSIEST, title(processes), counts.busiest_second)
    figures.add(REACHED, title(processes), (counts.posts - 1) / counts.seconds)
