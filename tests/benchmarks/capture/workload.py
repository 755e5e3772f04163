"""Write rows as an application does, and read the CPU time of the server's processes for it."""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg

WARM_UP_STATEMENTS: Final = 8  # five custom plans, then the generic one


class UnreadableClockError(Exception):
    """The CPU time of the server's processes cannot be read on this machine."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of write. ``single`` takes an id; ``bulk`` the first and the last id of a range."""

    name: str
    single: LiteralString
    bulk: LiteralString

    def statement(self, shape: "Shape") -> LiteralString:
        """The statement for the arguments of the shape."""
        return self.single if shape.rows == 1 else self.bulk


@dataclass(frozen=True, slots=True)
class Shape:
    """The writes of one visit: every client executes statements of a number of rows, each its own transaction.

    ``every`` is the distance of its rounds: 3 is every third round. ``is_single_first`` has bulk statements follow
    single-row ones, whose plans the triggers then keep.
    """

    name: str
    clients: int
    statements: int
    rows: int
    every: int
    is_single_first: bool = False

    @property
    def rows_in_all(self) -> int:
        """The rows of one operation in a visit."""
        return self.clients * self.statements * self.rows

    def arguments(self, client: int) -> list[tuple[int, ...]]:
        """For each statement of one client the id, or the first and the last."""
        first = client * self.statements * self.rows
        starts = range(first, first + self.statements * self.rows, self.rows)
        return [(start,) if self.rows == 1 else (start, start + self.rows - 1) for start in starts]


@dataclass(frozen=True, slots=True)
class Sample:
    """Microseconds a row: CPU of the backends, and wall time of the whole visit."""

    cpu: float
    wall: float


_VALUES: Final = """
    7, 'somebody@example.com', 'Some Body', 12.50, 'active', '{"plan": "pro", "seats": 12}', now(), now(),
    'The customer asked for an invoice by post.'
"""
# In this order every operation uses the rows of the previous one, and a visit leaves an empty table
OPERATIONS: Final = (
    Operation(
        "INSERT",
        f"insert into public.account values (%s, {_VALUES})",
        f"insert into public.account select id, {_VALUES} from generate_series(%s::bigint, %s) id",
    ),
    Operation(
        "UPDATE",
        "update public.account set status = 'closed', updated_at = clock_timestamp() where id = %s",
        "update public.account set status = 'closed', updated_at = clock_timestamp() where id between %s and %s",
    ),
    Operation(
        "no-op UPDATE",
        "update public.account set status = status where id = %s",
        "update public.account set status = status where id between %s and %s",
    ),
    Operation(
        "touch",
        "update public.account set updated_at = clock_timestamp() where id = %s",
        "update public.account set updated_at = clock_timestamp() where id between %s and %s",
    ),
    Operation(
        "DELETE",
        "delete from public.account where id = %s",
        "delete from public.account where id between %s and %s",
    ),
)

Client = psycopg.Connection[Any]


def visit(conninfo: str, shape: Shape) -> dict[str, Sample]:
    """Connect, warm up, write, disconnect. Returns a sample for each operation's name."""
    with _connected(conninfo, shape.clients) as clients, ThreadPoolExecutor(shape.clients) as threads:
        list(threads.map(_warm_up, clients, [shape] * shape.clients, range(shape.clients)))
        clocks = [_clock(client) for client in clients]
        samples = {}
        for operation in OPERATIONS:
            statements = [operation.statement(shape)] * shape.clients
            arguments = [shape.arguments(client) for client in range(shape.clients)]
            cpu, wall = _cpu_ns(clocks), time.perf_counter_ns()
            list(threads.map(_execute, clients, statements, arguments))
            wall, cpu = time.perf_counter_ns() - wall, _cpu_ns(clocks) - cpu
            samples[operation.name] = Sample(cpu / 1000 / shape.rows_in_all, wall / 1000 / shape.rows_in_all)
        return samples


@contextmanager
def _connected(conninfo: str, count: int) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        connect = psycopg.connect
        yield [stack.enter_context(connect(conninfo, autocommit=True, prepare_threshold=0)) for _ in range(count)]


def _warm_up(client: Client, shape: Shape, number: int) -> None:
    """Let the backend load its catalogs, compile the triggers and settle on its plans."""
    is_single = shape.rows == 1 or shape.is_single_first
    size = dataclasses.replace(
        shape, statements=WARM_UP_STATEMENTS if is_single else 1, rows=1 if is_single else shape.rows
    )
    for operation in OPERATIONS:
        _execute(client, operation.statement(size), size.arguments(number))


def _execute(client: Client, statement: LiteralString, arguments: Sequence[tuple[int, ...]]) -> None:
    cursor = client.cursor()
    for values in arguments:
        cursor.execute(statement, values)


def _clock(client: Client) -> int:
    """The id of the CPU clock of the client's backend, as clock_getcpuclockid() makes it on Linux."""
    pid = client.info.backend_pid
    try:
        title = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        title = ""
    if client.info.dbname not in title:  # databases here have names that no other process can have in its title
        raise UnreadableClockError(f"process {pid}, which serves the benchmark, is not on this machine")
    return ~pid << 3 | 2


def _cpu_ns(clocks: Sequence[int]) -> int:
    return sum(time.clock_gettime_ns(clock) for clock in clocks)
