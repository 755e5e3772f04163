"""Webhooks in a database in which no table is audited: the log has the changes of endpoints, and nothing else."""

from datetime import timedelta

import psycopg

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.maintenance import maintain
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.receiver import receiving
from tests.support.tables import log
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
DELIVERED = "select count(*) from svc.webhook_deliveries where status = 'delivered'"
TRIGGERS = """
select count(*) from pg_trigger join pg_class c on c.oid = tgrelid
 where not tgisinternal and c.relnamespace <> 'svc'::regnamespace
"""


def test_to_send_and_to_deliver_writes_no_entry(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as conn, receiving() as receiver:
        conn.execute("create table customer (id int primary key)")
        created, _ = endpoint(empty_database, CONFIG, receiver.url)
        conn.execute("insert into customer (id) values (1)")
        with working(empty_database, CONFIG, interval=timedelta(milliseconds=50)):
            for number in range(3):
                webhooks.send(conn, "order.created", {"id": number})
            wait_until(lambda: scalar(conn, DELIVERED) == 3, "all are delivered")
        assert maintain(conn, CONFIG)
        assert scalar(conn, TRIGGERS) == 0
        [entry] = log(conn)
    assert (entry["table_name"], entry["operation"], entry["record_id"]) == (
        "svc.webhook_endpoints",
        "INSERT",
        created,
    )
    assert len(rows(empty_database, "webhook_messages")) == 3
