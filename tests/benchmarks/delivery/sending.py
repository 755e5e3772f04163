"""The costs of sending for the sender: svc.send beside the same rows by hand, and svc.send_many."""

import time
from collections.abc import Iterable
from typing import Final

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.benchmarks import application
from tests.benchmarks.delivery import stage
from tests.benchmarks.delivery.clients import Clients, connected
from tests.benchmarks.delivery.figures import Figures, Section, turns
from tests.benchmarks.delivery.sizes import Size
from tests.benchmarks.delivery.stage import Server

CLIENTS: Final = (1, 16, 32)
PLAIN: Final = "three inserts, no wake-up"
SAME_WORK: Final = "one statement that does the same work"
NOTIFY: Final = "three inserts and pg_notify"
SILENT: Final = "svc.send without its wake-up"
SEND: Final = "svc.send"
SEND_MANY: Final = "svc.send_many, 500 messages a call"
MANY_TENANTS: Final = "the same, of 200 tenants with an endpoint each"
BATCH: Final = Section("send_many, 1 client", "delivery rows/s", "one sample a call; two endpoints get every message")
_BATCH_MESSAGES: Final = 500
_TENANTS: Final = 200
_NOWHERE: Final = "http://127.0.0.1:9/"
# what each way needs
_GRANT: Final = f"""
grant svc_sender to {application.ROLE};
grant usage on schema svc to {application.ROLE};
grant select, insert on svc.webhook_messages, svc.webhook_deliveries, svc.webhook_queue to {application.ROLE};
grant select on svc.webhook_event_types, svc.webhook_endpoints to {application.ROLE};
grant execute on function svc.webhook_uuid7() to {application.ROLE};
"""

# the same rows in the fewest steps: one statement that knows the endpoint and checks nothing
_MESSAGE: Final = """
with message as (
    insert into svc.webhook_messages (id, event_name, payload)
    values (svc.webhook_uuid7(), {event}, {payload}) returning id
)"""
_DELIVERY: Final = """,
delivery as (
    insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts, next_attempt_at)
    select svc.webhook_uuid7(), id, {endpoint}, {event}, 5, now() from message returning id
)"""
_QUEUE: Final = """
insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
select {endpoint}, now(), id from delivery returning delivery_id"""
# the work of svc.send in the fewest steps: the event is defined, the payload is small, and no endpoint has a filter
_SAME_WORK: Final = """
with event as materialized (
    select t.patterns from svc.webhook_event_types t
     where t.name = {event} and '*' = any (t.patterns) and octet_length({payload}::json::text) <= 262144
       and (select true from svc.webhook_endpoints e where e.filter is not null order by e.id limit 1) is null
), message as (
    insert into svc.webhook_messages (id, event_name, payload)
    select svc.webhook_uuid7(), {event}, {payload} from event returning id
), wanted as materialized (
    select svc.webhook_uuid7() as id, m.id as message_id, e.id as endpoint_id
      from message m, event t join svc.webhook_endpoints e on e.events && t.patterns
     where e.status <> 'disabled' and e.tenant is null
), delivery as (
    insert into svc.webhook_deliveries (id, message_id, endpoint_id, event_name, max_attempts, next_attempt_at)
    select w.id, w.message_id, w.endpoint_id, {event}, 5, now() from wanted w
)
insert into svc.webhook_queue (endpoint_id, next_attempt_at, delivery_id)
select w.endpoint_id, now(), w.id from wanted w returning delivery_id
"""
_STATEMENTS: Final = {
    PLAIN: sql.SQL(_MESSAGE + _DELIVERY + _QUEUE),
    SAME_WORK: sql.SQL(_SAME_WORK),
    NOTIFY: sql.SQL(
        _MESSAGE + _DELIVERY + ", queued as (" + _QUEUE + ") select pg_notify('svc_webhooks', '') from queued"
    ),
    SILENT: sql.SQL("select svc.silent({event}, {payload})"),
    SEND: sql.SQL("select svc.send({event}, {payload})"),
}
# svc.send as it is installed, but for the one call that wakes a worker
_MAKE_SILENT: Final = r"""
do $$
declare
    v_send text := pg_get_functiondef('svc.send(text, text, text, text, interval, text, text)'::regprocedure);
    v_silent text := regexp_replace(v_send, 'found and not pg_try_advisory_xact_lock_shared\([^)]*\)', 'false');
begin
    if v_silent = v_send or v_silent ~ 'advisory' then
        raise 'svc.send wakes workers in a way that this benchmark does not know';
    end if;
    execute regexp_replace(v_silent, '\msend([.(])', 'silent\1', 'g');
    alter function svc.silent owner to svc_owner;
end $$
"""
_SEND_MANY: Final = "select cardinality(svc.send_many(%s, array_fill(%s::json, array[%s])))"
_SEND_TO_TENANTS: Final = """
select cardinality(svc.send_many(%s, array_agg(%s::json), null, array_agg('tenant-' || (n %% 200))))
  from generate_series(1, %s) n
"""


def section(clients: int, *, is_worker_asleep: bool) -> Section:
    """The section for a number of clients."""
    return Section(
        f"send, {clients} client{'s' if clients > 1 else ''}, {'a worker asleep' if is_worker_asleep else 'no worker'}",
        "sends/s",
        "each a transaction, one round trip, prepared"
        + (
            "; its endpoint is paused, so it claims but never posts; until it is awake every send notifies"
            if is_worker_asleep
            else ""
        ),
        reference=PLAIN,
    )


def measure(figures: Figures, server: Server, size: Size) -> None:
    """Measure each way in turn with each number of clients, first without a worker, then with a sleeping one.

    The clients have the role of an application.
    """
    with application.application_role(server.maintenance), server.database() as database:
        [endpoint] = stage.add_endpoints(database, _NOWHERE)
        with psycopg.connect(database) as conn:
            conn.execute("update svc.webhook_endpoints set status = 'paused'")
            conn.execute(_MAKE_SILENT)
            conn.execute(_GRANT)
        literals = {"event": stage.EVENT, "payload": stage.PAYLOAD, "endpoint": endpoint}
        ways = {
            name: text.format(**{hole: sql.Literal(value) for hole, value in literals.items()})
            for name, text in _STATEMENTS.items()
            if size.is_thorough or name != SILENT
        }
        acting = make_conninfo(database, options=application.OPTIONS)
        with connected(acting, ways, count=max(CLIENTS)) as clients:
            _measure(figures, clients, database, ways, size)
            with stage.worker(database) as worker:
                _measure(figures, clients, database, ways, size, worker)


def _measure(
    figures: Figures,
    clients: Clients,
    database: str,
    ways: Iterable[str],
    size: Size,
    worker: stage.WorkerProcess | None = None,
) -> None:
    for number in range(size.send_rounds):
        for count in CLIENTS:
            stage.empty(database)
            for name in turns(ways, number):
                if worker:
                    worker.wait_until_asleep(database)
                rate = clients.rate(name, clients=count, seconds=size.send_seconds)
                figures.add(section(count, is_worker_asleep=worker is not None), name, rate)


def measure_batches(figures: Figures, server: Server, size: Size) -> None:
    """Measure calls, each a transaction: with two endpoints for everything, then with one endpoint for each tenant."""
    with server.database() as database:
        stage.add_endpoints(database, _NOWHERE, count=2)
        with psycopg.connect(database, autocommit=True) as conn:
            for number in range(size.batches + 1):
                rate = 2 * _BATCH_MESSAGES / _seconds(conn, _SEND_MANY)
                if number:  # the first loads catalogs and compiles
                    figures.add(BATCH, SEND_MANY, rate)
            conn.execute("delete from svc.webhook_endpoints")
            stage.add_endpoints(database, _NOWHERE, count=_TENANTS, is_tenants=True)
            for _ in range(size.batches):
                figures.add(BATCH, MANY_TENANTS, _BATCH_MESSAGES / _seconds(conn, _SEND_TO_TENANTS))


def _seconds(conn: psycopg.Connection, statement: str) -> float:
    started = time.perf_counter()
    conn.execute(statement, (stage.EVENT, stage.PAYLOAD, _BATCH_MESSAGES))
    return time.perf_counter() - started
