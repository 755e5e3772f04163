"""A worker's claims beside many idle endpoints, old deliveries and a customer who has nearly all that waits."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, LiteralString

import psycopg

from svc_pg.webhooks import deliveries
from svc_pg.webhooks.deliveries.delivery_query import BULK
from svc_pg.webhooks.deliveries.replay_queries import BATCH
from svc_pg.webhooks.worker import leases
from svc_pg.webhooks.worker.leases import Lease
from tests.benchmarks.bounds import MOST
from tests.proof.scale.measuring import Checked, timed
from tests.proof.scale.stage import Stage
from tests.support.long_log import PAGES, Statistics

_BATCH: Final = 50
_OF_A_DELIVERY: Final = 60
"""The most pages for each delivery of a claim."""
_OF_A_CLAIM: Final = 1_000
"""The most pages beside these, with the endpoints that have something due."""
_OF_A_FULL_ENDPOINT: Final = 60
"""The most pages for each endpoint that has as many attempts under way as it may, and is passed over."""
_OF_A_ROW: Final = 20
"""The most pages for each row of a change."""
_PRUNED: Final = 5_000
_DUE: Final[LiteralString] = """
select count(*), count(distinct q.endpoint_id) from svc.webhook_queue q where q.lane = 'due'
"""
_BUSY: Final[LiteralString] = (
    "select id::text, max_in_flight from svc.webhook_endpoints where description = 'Partner 1'"
)
_PRUNE: Final[LiteralString] = "select svc.webhook_prune('1 hour', '1 hour')"


def claims(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """Claims until nothing may start, all in a transaction that is rolled back."""
    yield from asyncio.run(_claims(stage, state))


async def _claims(stage: Stage, state: Statistics) -> Sequence[Checked]:
    async with await psycopg.AsyncConnection.connect(stage.conninfo, prepare_threshold=None) as conn:
        [(due, endpoints)] = await (await conn.execute(_DUE)).fetchall()
        [(busy, in_flight)] = await (await conn.execute(_BUSY)).fetchall()
        await _claim(conn, None)  # which makes plans
        await conn.rollback()
        held: list[Lease] = []
        full, empty = _Cost(), _Cost()
        after, first_turn = None, 0
        while True:
            passed = sum(number >= in_flight for number in Counter(each.endpoint_id for each in held).values())
            taken, pages, milliseconds = await _claim(conn, after)
            bound = _OF_A_CLAIM + _OF_A_DELIVERY * (_BATCH if taken else 0) + _OF_A_FULL_ENDPOINT * passed
            (full if taken else empty).add(pages, bound, milliseconds)
            if not taken:
                break
            held += taken
            after = taken[-1].endpoint_id
            first_turn += len({each.endpoint_id for each in held}) < endpoints
        await conn.rollback()
    got = Counter(each.endpoint_id for each in held)
    rounds = -(-endpoints * in_flight // _BATCH)
    return [
        Checked(f"claim of up to {_BATCH}", "pages", full.pages, full.bound, full.ms, state),
        Checked("claim of nothing, all in flight", "pages", empty.pages, empty.bound, empty.ms, state),
        Checked("deliveries in flight to the busy endpoint", "deliveries", got[busy], in_flight, full.ms, state),
        Checked("endpoints with due deliveries that get none", "endpoints", endpoints - len(got), 0, full.ms, state),
        Checked(
            f"claims until each of these has one, of {due:,} due", "claims", first_turn + 1, rounds, full.ms, state
        ),
    ]


class _Cost:
    """The pages of several claims, of the one that is nearest to its bound, and the most milliseconds."""

    def __init__(self) -> None:
        self.pages, self.bound, self.ms = 0, 1, 0.0

    def add(self, pages: int, bound: int, milliseconds: float) -> None:
        self.pages, self.bound = max((self.pages, self.bound), (pages, bound), key=lambda each: each[0] / each[1])
        self.ms = max(self.ms, milliseconds)


async def _claim(conn: psycopg.AsyncConnection[Any], after: str | None) -> tuple[list[Lease], int, float]:
    [(before,)] = await (await conn.execute(PAGES)).fetchall()
    began = time.perf_counter()
    taken, _ = await leases.claim(conn, worker="proof", batch=_BATCH, after=after)
    milliseconds = (time.perf_counter() - began) * 1000
    [(touched,)] = await (await conn.execute(PAGES)).fetchall()
    return taken, touched - before, milliseconds


def changes(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """A batch of each change of many deliveries, of the busy endpoint, which is previewed or rolled back."""
    with psycopg.connect(stage.conninfo) as conn:
        [(busy, _)] = conn.execute(_BUSY).fetchall()
        kinds: Mapping[str, tuple[int, Callable[[], object]]] = {
            "preview of a replay": (BATCH, lambda: deliveries.replay(conn, busy, since="7d", dry_run=True)),
            "preview of a replay of failures": (
                BATCH, lambda: deliveries.replay(conn, busy, since="7d", by="finished", dry_run=True),
            ),
            "preview of a retry": (BULK, lambda: deliveries.retry_all(conn, endpoint=busy, dry_run=True)),
            "preview of a cancellation": (BULK, lambda: deliveries.cancel_all(conn, endpoint=busy, dry_run=True)),
            "prune of a batch": (_PRUNED, lambda: conn.execute(_PRUNE)),
        }  # fmt: skip
        for name, (rows, call) in kinds.items():
            [(before,)] = conn.execute(PAGES).fetchall()
            milliseconds = timed(call)
            [(touched,)] = conn.execute(PAGES).fetchall()
            conn.rollback()
            yield Checked(f"{name}: {rows:,}", "pages", touched - before, MOST + _OF_A_ROW * rows, milliseconds, state)
