"""Hold a worker up at a chosen change: its transaction waits before its commit until the test releases it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, LiteralString

import psycopg

from svc_pg.database.query import scalar
from tests.support.waiting import wait_until

CLAIM: Final[LiteralString] = "insert"
ACKNOWLEDGEMENT: Final[LiteralString] = "delete"

_FUNCTION: Final = """
create or replace function public.wait_at_breakpoint() returns trigger language plpgsql as
$$ begin perform pg_advisory_xact_lock_shared(4711); return null; end $$
"""
_TRIGGER: Final = (
    """
create constraint trigger breakpoint after """,
    """ on svc.webhook_leases deferrable initially deferred
for each row execute function public.wait_at_breakpoint()""",
)
_WAITING: Final = "select pid from pg_locks where locktype = 'advisory' and objid = 4711 and not granted"


@contextmanager
def held_up(conninfo: str, change: LiteralString) -> Iterator[Callable[[], int]]:
    """Hold up every transaction that makes this change to a lease; leaving lets it commit.

    Enter to get a function that waits for a held-up transaction and returns the process id of its backend.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(_FUNCTION)
        conn.execute(_TRIGGER[0] + change + _TRIGGER[1])
        conn.execute("select pg_advisory_lock(4711)")
        yield lambda: wait_until(lambda: scalar(conn, _WAITING), "a transaction is held up")
