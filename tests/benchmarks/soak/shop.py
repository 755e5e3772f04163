"""A shop's tables and configuration, and a writer: business in transactions, with the messages that belong to it."""

import json
import random
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, LiteralString

import psycopg

from svc_pg import Config, audit
from svc_pg.formats import durations
from tests.benchmarks.delivery.stage import EVENT
from tests.benchmarks.soak.day import MOST

HEALTHY: Final = ("plain", "keyed")
RECEIVERS: Final = {"plain": "/ok", "keyed": "/ok", "slow": "/slow", "flaky": "/flaky", "outage": "/outage"}
"""The tenants, each with one endpoint, and its path at the receiver; all but ``plain`` keep the order of keys."""

APPLICATION: Final = "soak writer"
_CUSTOMERS: Final = 500
_KEPT_ORDERS: Final = 2000
_KEYS: Final = 20  # of each endpoint
_ROLLED_BACK: Final = 0.03

TABLES: Final = f"""
create table customer (id int primary key, name text not null, email text not null, visits int not null default 0);
create table "order" (
    id bigint generated always as identity primary key, customer_id int not null references customer,
    status text not null, note text
);
create table order_line (
    order_id bigint references "order" on delete cascade, position int, article text not null, quantity int not null,
    primary key (order_id, position)
);
create index on "order" (customer_id);
create table complaint (id bigint generated always as identity primary key, order_id bigint not null, words text);
insert into customer (id, name, email)
select n, 'Customer ' || n, 'c' || n || '@example.org' from generate_series(1, {_CUSTOMERS}) n;
"""
_CONFIGURATION: Final = """
[audit]
reconcile = "{reconcile}"
[[audit.tables]]
name = "customer"
redact = {{ email = "mask" }}
[[audit.tables]]
name = "order"
[[audit.tables]]
name = "order_line"
level = "statement"
{more}
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
keep_delivered = "{kept}"
keep_failed = "{kept}"
retry = {retry}
[webhooks.events."{event}"]
search = ["number"]
"""
_MORE: Final = """
[[audit.tables]]
name = "complaint"
"""
_RETRIES: Final = 60

_PLACE: Final = 'insert into "order" (customer_id, status, note) values (%s, %s, %s) returning id'
_LINES: Final = """
insert into order_line (order_id, position, article, quantity)
select %s, n, 'A-' || n * 7, n from generate_series(1, %s) n
"""
_CHANGES: Final[tuple[LiteralString, ...]] = (
    """update "order" set status = 'shipped' where id = (select max(id) - %s %% 500 from "order")""",
    "update customer set visits = visits + 1 where id = %s",
    "update customer set name = name where id = %s",
)
_FORGET: Final = """
delete from "order" where id in (select id from "order" where id < %s order by id limit 5 for update skip locked)
"""
_COMPLAIN: Final = "insert into complaint (order_id, words) values (%s, 'It came late')"
_FORGIVE: Final = "delete from complaint where id < (select max(id) - 200 from complaint)"
_SEND: Final = "select svc.send(%s, %s, null, %s, key => %s)"


def configuration(*, kept: timedelta, reconcile: timedelta, outage: timedelta, is_later: bool = False) -> str:
    """The file of all programs; the later one captures one table more.

    Attempts go on for longer than the ``outage``.
    """
    waits = ["1s", *[durations.text(max(timedelta(seconds=1), outage / 10))] * _RETRIES]
    return _CONFIGURATION.format(
        reconcile=durations.text(reconcile),
        kept=durations.text(kept),
        retry=json.dumps(waits),
        event=EVENT,
        more=_MORE if is_later else "",
    )


def parsed(configuration: str) -> Config:
    """The configuration in such a file."""
    return Config.model_validate(tomllib.loads(configuration))


@dataclass(slots=True)
class Ledger:
    """Everything that the writers and readers of a run saw, shared by their threads.

    ``times`` are milliseconds by kind since the last ``taken``; ``counts`` and ``errors`` are those of the whole run.
    """

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    _times: dict[str, list[float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, began: float) -> None:
        """Keep the time of a call that began at this ``time.perf_counter()``."""
        with self._lock:
            self._times.setdefault(kind, []).append((time.perf_counter() - began) * 1000)

    def count(self, **numbers: int) -> None:
        """Add to the counts."""
        with self._lock:
            self.counts.update(numbers)

    def fail(self, words: str) -> None:
        """Count an error that should not have happened."""
        with self._lock:
            self.errors[words] += 1

    def taken(self) -> dict[str, list[float]]:
        """The times since the last call."""
        with self._lock:
            times, self._times = self._times, {}
        return times


@dataclass(slots=True)
class Writer:
    """One connection of the application; ``rate`` is its transactions a second in the busiest hour."""

    conninfo: str
    ledger: Ledger
    rate: float
    seed: int

    def run(self, intensity_now: Callable[[], float], is_over: threading.Event) -> None:
        """Write until it is over, as often as the load of the moment wants."""
        chance = random.Random(self.seed)
        with psycopg.connect(self.conninfo, autocommit=True, application_name=APPLICATION) as conn:
            while not is_over.wait(chance.expovariate(self.rate * MOST)):
                if chance.random() * MOST < intensity_now():
                    try:
                        self._transact(conn, chance)
                    except psycopg.Error as error:
                        self.ledger.fail(f"writer: {type(error).__name__}")

    def _transact(self, conn: psycopg.Connection[Any], chance: random.Random) -> None:
        is_kept, messages = chance.random() > _ROLLED_BACK, 0
        with (
            conn.transaction(force_rollback=not is_kept),
            audit.actor(conn, f"clerk-{chance.randrange(20)}"),
        ):
            if chance.random() < 0.5:
                messages = self._order(conn, chance)
            else:
                change = chance.choice(_CHANGES)
                self._timed(conn, change, chance.randint(1, _CUSTOMERS))
        self.ledger.count(transactions=1, messages=messages if is_kept else 0, rolled_back=not is_kept)

    def _order(self, conn: psycopg.Connection[Any], chance: random.Random) -> int:
        """Place an order, forget old ones, and tell two receivers."""
        row = self._timed(conn, _PLACE, chance.randint(1, _CUSTOMERS), "placed", "x" * chance.randrange(200))
        number: int = row.fetchall()[0][0]
        conn.execute(_LINES, (number, chance.randint(1, 4)))
        conn.execute(_FORGET, (number - _KEPT_ORDERS,))
        if chance.random() < 0.05:
            conn.execute(_COMPLAIN, (number,))
            conn.execute(_FORGIVE)
        tenants = chance.sample(list(RECEIVERS), 2)
        for tenant in sorted(tenants):  # one order of locks for all writers
            key = None if tenant == "plain" or chance.random() < 0.3 else f"{tenant}-{number % _KEYS}"
            conn.execute(_SEND, (EVENT, json.dumps({"number": number, "status": "placed"}), tenant, key))
        return len(tenants)

    def _timed(self, conn: psycopg.Connection[Any], statement: LiteralString, *values: object) -> psycopg.Cursor[Any]:
        began = time.perf_counter()
        cursor = conn.execute(statement, values)
        self.ledger.note("capture", began)
        return cursor
