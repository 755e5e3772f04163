"""Short leases, so that tests can wait for their end."""

import psycopg

from svc_pg.database.query import scalar


def shorten_leases(conninfo: str) -> None:
    """Give each attempt 1 s, and each lease 1 s of grace after that instead of svc.webhook_claim's 15."""
    with psycopg.connect(conninfo) as conn:
        claim: str = scalar(conn, "select pg_get_functiondef('svc.webhook_claim'::regproc)")
        short = claim.replace("'00:00:15'::interval", "'00:00:01'::interval")
        assert short != claim
        conn.execute(short.encode())
        conn.execute("update svc.webhook_endpoints set timeout = '1 s'")
