"""Count the pages of PostgreSQL that each read of a long log touches, by each filter and each pair of filters.

    python -m tests.benchmarks.bounds --entries 10000000

The log has 30 tables over 14 months; three of ten entries are of one record, half a million of one transaction, and one
of 20,000 has a tenant, an actor, a label or a severity that is rare. Each list is read from both ends, under three
states of the planner's statistics: never analyzed (as after a restore), analyzed when the log was small, and right.
Prints tables of the pages (8 KiB, of the log and its indexes) and of milliseconds. Exits with 1 if a list touches more
pages than the limit.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from statistics import quantiles
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection

from svc_pg import audit
from svc_pg.audit import AuditQuery
from svc_pg.audit.read.audit_query import entry
from svc_pg.audit.read.facets import afacets
from svc_pg.audit.read.follow_pages import following
from svc_pg.audit.read.listing import listing
from svc_pg.audit.read.search import search, with_text
from svc_pg.audit.read.stats import astats
from svc_pg.database.pagination import encode
from svc_pg.database.query import afetch
from tests.benchmarks import command, saved
from tests.benchmarks.tables.markdown import number, table
from tests.support.long_log import BULK, HOT, PAGES, STATES, fill, know
from tests.support.postgres import DURABLE, new_database, server

MOST: Final = 15_000
"""The limit of pages for a list."""
_BYTES: Final = 1_000_000
_END: Final = encode(("2999-01-01T00:00:00+00:00", "1"))

Connection = AsyncConnection[Any]
Read = Callable[[Connection], Awaitable[object]]
Filter = Callable[[AuditQuery], AuditQuery]

FILTERS: Final[Mapping[str, Filter]] = {
    "resource: most entries": lambda query: query.resource("t"),
    "resource: rare": lambda query: query.resource("rare"),
    "resource: none": lambda query: query.resource("nothing"),
    "record: three of ten": lambda query: query.record(HOT),
    "record: none": lambda query: query.record("none"),
    "actor: one of 50": lambda query: query.actor("actor 3"),
    "actor: rare": lambda query: query.actor("rare"),
    "tenant: frequent": lambda query: query.tenant("tenant 7"),
    "tenant: rare": lambda query: query.tenant("rare"),
    "operation: nearly all": lambda query: query.operation("UPDATE"),
    "operation: rare": lambda query: query.operation("TRUNCATE"),
    "label: frequent": lambda query: query.label("frequent"),
    "label: rare": lambda query: query.label("rare"),
    "severity: rare": lambda query: query.severity("critical"),
    "severity: at least": lambda query: query.severity(at_least="medium"),
    "compliance: rare": lambda query: query.compliance("gdpr"),
    "changed: rare": lambda query: query.changed("email"),
    "missing: tenant": lambda query: query.missing("tenant"),
    "without: resource": lambda query: query.without(resource=["t"]),
    "since: 100 days": lambda query: query.since("100d"),
    "until: 100 days": lambda query: query.until("100d"),
    "transactions: half a million entries": lambda query: query.transactions(since=BULK, before=BULK + 1),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The pages that a read touched, and its milliseconds."""

    pages: int
    milliseconds: float


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = command.parser("bounds", __doc__)
    parser.add_argument("--entries", type=int, default=10_000_000, help="default: %(default)s")
    options = parser.parse_args()
    settings = (*DURABLE, "--fsync=off", "--autovacuum=off")
    with (
        server(options.postgres, settings=settings) as maintenance,
        new_database(maintenance) as conninfo,
        psycopg.connect(conninfo, autocommit=True) as conn,
    ):
        versions = command.versions(maintenance)
        with command.words.status("filling"):
            fill(conn, options.entries, days=425)
        singles: dict[str, dict[str, Cost]] = {}
        pairs: dict[str, dict[str, Cost]] = {}
        for state in sorted(STATES, key=["analyzed when small", "right", "never analyzed"].index):
            know(conn, state)
            for found, reads in ((singles, {**lists(), **others()}), (pairs, pairs_of_filters())):
                for name, cost in asyncio.run(measured(conninfo, state, reads)).items():
                    found.setdefault(name, {})[state] = cost
    figures = _figures(options.entries, singles, pairs)
    saved.save(options.save, f"bounds-{options.entries}", figures, versions)
    command.output().print(shown(figures), soft_wrap=True, markup=False)
    bounded = [figures["pairs"], *(each for name, each in figures["reads"].items() if name in lists())]
    return int(any(cost["pages"] > MOST for states in bounded for cost in states.values()))


def shown(figures: Mapping[str, Any]) -> str:
    """The table in Markdown: of each read the pages and the milliseconds, by the state of the statistics."""
    rows = {name: _cells(states) for name, states in figures["reads"].items()}
    rows["**the worst of all pairs of filters**"] = _cells(figures["pairs"])
    return table("pages, and milliseconds", STATES, rows)


def _cells(states: Mapping[str, Mapping[str, float]]) -> list[str]:
    return [f"{states[state]['pages']:,}, {number(states[state]['milliseconds'])}" for state in STATES]


def _figures(
    entries: int, singles: Mapping[str, Mapping[str, Cost]], pairs: Mapping[str, Mapping[str, Cost]]
) -> dict[str, Any]:
    worst: dict[str, Any] = {}
    for state in STATES:
        name, cost = max(((name, costs[state]) for name, costs in pairs.items()), key=lambda each: each[1].pages)
        times = [costs[state].milliseconds for costs in pairs.values()]
        worst[state] = {
            "pages": cost.pages,
            "milliseconds": max(times),
            "p95Ms": quantiles(times, n=20)[-1],
            "filters": name,
        }
    reads = {
        name: {state: {"pages": cost.pages, "milliseconds": cost.milliseconds} for state, cost in costs.items()}
        for name, costs in singles.items()
    }
    return {"entries": entries, "numberOfPairs": len(pairs), "reads": reads, "pairs": worst}


def lists() -> dict[str, Read]:
    """A page of 50 by each filter, from both ends."""
    selections: dict[str, Filter] = {"no filter": lambda query: query, **FILTERS}
    return {
        name if order == "newest" else f"{name}, the oldest first": _list(selected(audit.query()).order(order))
        for name, selected in selections.items()
        for order in ("newest", "oldest")
    }


def pairs_of_filters() -> dict[str, Read]:
    """A page of 50 by each two filters, of which one may be since or until, from both ends."""
    return {
        f"{one}; {other}; {order} first": _list(second(first(audit.query())).order(order))
        for (one, first), (other, second) in combinations(FILTERS.items(), 2)
        if one.partition(":")[0] != other.partition(":")[0]
        for order in ("newest", "oldest")
    }


def _list(query: AuditQuery) -> Read:
    return query.limit(50).alist


def others() -> dict[str, Read]:
    """The other reads of the log, at their worst: of the record and the transaction with the most entries."""
    past = audit.as_of("t", timedelta(days=200)).limit(50)
    history = audit.history("t", HOT).limit(100)
    rare = audit.query().label("rare")

    async def middle(conn: Connection) -> object:
        first = await past.alist(conn)
        assert first.next_cursor is not None
        return await past.after(first.next_cursor).alist(conn)

    async def newest(conn: Connection) -> object:
        [last] = (await audit.query().limit(1).alist(conn)).data
        return await afetch(conn, entry(last.id))

    return {
        "`history`, 100 states": history.alist,
        "`history`, the oldest 100": history.order("oldest").alist,
        "`as_of`, 50 rows of a table": past.alist,
        "`as_of`, 50 rows and the next 50": middle,
        "`as_of`, a record": audit.as_of("t", timedelta(days=200)).record(HOT).alist,
        "`blame`, of a field that never changed": lambda conn: audit.ablame(conn, "t", HOT),
        "`blame`, that page and the next": _next_origins,
        "`last_changes`": lambda conn: audit.alast_changes(conn, "t", HOT),
        "a transaction, 50 entries": audit.transaction(BULK).limit(50).alist,
        "a transaction, its last 50 entries": audit.transaction(BULK).limit(50).before(_END).alist,
        "an entry": newest,
        "counts by filter": lambda conn: afacets(conn, audit.query()),
        "counts by filter, of a rare label": lambda conn: afacets(conn, rare),
        "counts by time": lambda conn: astats(conn, audit.query()),
        "counts by time, of a rare label": lambda conn: astats(conn, rare),
        "follow, from the start": lambda conn: following(conn, audit.query(), "start", max_bytes=_BYTES),
        "follow, a rare label": lambda conn: following(conn, rare, "start", max_bytes=_BYTES),
        "search for words that nobody wrote": lambda conn: search(
            conn, listing(with_text(audit.query(), "nobody wrote this")), max_bytes=_BYTES
        ),
    }


async def _next_origins(conn: Connection) -> object:
    first = await audit.ablame(conn, "t", HOT)
    assert first.next_cursor is not None
    return await audit.ablame(conn, "t", HOT, after=first.next_cursor)


async def measured(conninfo: str, state: str, reads: Mapping[str, Read]) -> dict[str, Cost]:
    async with await AsyncConnection.connect(conninfo, autocommit=True) as conn:
        return {name: await _cost(conn, read) for name, read in _announced(state, reads)}


def _announced(state: str, reads: Mapping[str, Read]) -> Iterator[tuple[str, Read]]:
    with command.words.status(state) as status:
        for name, read in reads.items():
            status.update(f"{state}: {name}")
            yield name, read


async def _cost(conn: Connection, read: Read) -> Cost:
    """Of the second call, as the first one makes plans and fills caches."""
    async with conn.transaction(force_rollback=True):
        await read(conn)
    async with conn.transaction(force_rollback=True):
        before = await _touched(conn)
        started = time.perf_counter()
        await read(conn)
        milliseconds = (time.perf_counter() - started) * 1000
        return Cost(await _touched(conn) - before, milliseconds)


async def _touched(conn: Connection) -> int:
    [(pages,)] = await (await conn.execute(PAGES)).fetchall()
    return int(pages)


if __name__ == "__main__":
    sys.exit(main())
