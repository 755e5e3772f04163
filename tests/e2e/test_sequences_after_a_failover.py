"""The sequences of keys on a promoted standby that lacks commits, and in a restored database."""

import subprocess
from contextlib import ExitStack

import psycopg
from psycopg.conninfo import conninfo_to_dict

from svc_pg import webhooks
from svc_pg.database.query import scalar
from svc_pg.testing.databases import address_beside
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import embedded_programs, new_database, restartable, standby
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
KEYS = ["known", "known", "lost"]


def sent(conninfo: str, *keys: str) -> dict[str, list[int]]:
    """Send a message of each key, alone and in a batch; return the sequences of each key that the database has."""
    with psycopg.connect(conninfo) as conn:
        for key in keys:
            webhooks.send(conn, "order.created", {}, key=key)
        webhooks.send_many(conn, "order.created", [{}] * len(keys), keys=keys)
        query = "select key, array_agg(sequence order by id) from svc.webhook_messages group by key"
        return dict(conn.execute(query).fetchall())


def test_a_promoted_standby_that_lost_commits_and_a_restored_dump_give_no_sequence_twice() -> None:
    programs = embedded_programs()
    with ExitStack() as stack:
        server = stack.enter_context(stack.enter_context(restartable(programs))())
        primary = stack.enter_context(new_database(server))
        endpoint(primary, CONFIG, "http://127.0.0.1:9/hook", ordering="key")
        sent(primary, "known")
        dump = subprocess.run([programs / "pg_dump", "--dbname", primary], capture_output=True, check=True).stdout
        name = str(conninfo_to_dict(primary)["dbname"])
        follower = address_beside(stack.enter_context(standby(programs, server)), name)
        with psycopg.connect(follower, autocommit=True) as promoted:
            wait_until(lambda: scalar(promoted, "select count(*) from svc.webhook_messages") == 2)
            promoted.execute("alter system set primary_conninfo = ''")
            promoted.execute("select pg_reload_conf()")
            wait_until(lambda: scalar(promoted, "select count(*) from pg_stat_wal_receiver") == 0)
            before = sent(primary, "known", "known", "lost")
            assert scalar(promoted, "select pg_promote()")
        after = sent(follower, "known", "lost")
        assert len(before["known"]) == 6
        assert len(after["known"]) == 4  # commits were lost, or this shows nothing
        assert min(after["known"][2:]) > max(before["known"])
        assert min(after["lost"]) > max(before["lost"])

        restored = stack.enter_context(new_database(server))
        subprocess.run(
            [programs / "psql", "--quiet", "--dbname", restored], input=dump, capture_output=True, check=True
        )
        again = sent(restored, "known", "lost")
        assert min(again["known"][2:]) > max(after["known"])
        assert min(again["lost"]) > max(after["lost"])
        for conninfo, number in ((follower, 2), (restored, 2)):
            with psycopg.connect(conninfo) as conn:  # the first of each key is due, whatever its distance is
                assert len(conn.execute("select * from svc.webhook_claim('worker', 10)").fetchall()) == number
