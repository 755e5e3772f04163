"""A console to measure: its settings, a filled log, and the sessions of many users."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import psycopg
from pydantic import SecretStr

from svc_pg import Config, schema
from svc_pg.console.http import tokens
from svc_pg.settings import Permission, Settings

ENTRIES: Final = 100_000
KEY: Final = b"c0ffee" * 8
PREFIX: Final = "/.well-known/svc"

_FILL: Final = """
insert into svc.audit_logs (table_name, table_oid, operation, record_id, actor_id, timestamp, after_data)
select 'public.' || (array['orders', 'customers', 'invoices'])[1 + n %% 3], 0,
       (array['INSERT', 'UPDATE', 'DELETE'])[1 + n %% 3]::svc.audit_operation, (n %% 5000)::text, 'actor-' || n %% 50,
       now() - make_interval(secs => %(entries)s - n), jsonb_build_object('id', n, 'note', repeat('x', 200))
  from generate_series(1, %(entries)s) n
"""
_SESSION: Final = """
insert into svc.console_sessions (id, email, permission, token_hash, expires_at) values (%s, %s, %s, %s, %s)
"""


def settings(conninfo: str) -> Settings:
    return Settings.load(
        env="development",
        database_url=conninfo,
        console_connection_token_hash=SecretStr(f"sha256:{KEY.decode()}"),
        console_allowed_emails={"*@corp.example": "admin"},
        console_trusted_proxies=["127.0.0.0/8"],
    )


def prepare(conninfo: str, *, clients: int, permission: Permission = "read", entries: int = ENTRIES) -> list[str]:
    """Install, fill the log, and return the session tokens of a number of users."""
    with psycopg.connect(conninfo) as conn:
        schema.install(conn, Config())
        conn.execute(_FILL, {"entries": entries})
        made = signed_in(conn, clients=clients, permission=permission)
        conn.commit()
        conn.execute("select svc.audit_ensure_partitions()")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("vacuum analyze svc.audit_logs")
    return made


def signed_in(
    conn: psycopg.Connection[Any], *, clients: int, permission: Permission, lifetime: timedelta = timedelta(hours=1)
) -> list[str]:
    """Begin a session of each of a number of users, and return their tokens."""
    made = []
    for number in range(clients):
        session_id, now = uuid4(), datetime.now(UTC).replace(microsecond=0)
        token = tokens.issue(
            KEY,
            email=f"person{number}@corp.example",
            permissions=[permission],
            lifetime=lifetime,
            method="magic_link",
            session_id=session_id,
            now=now,
        )
        row = (session_id, f"person{number}@corp.example", permission, tokens.token_hash(token), now + lifetime)
        conn.execute(_SESSION, row)
        made.append(token)
    return made
