"""The role of an application: PostgreSQL checks no privilege of a superuser, whose writes are cheaper for that."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

ROLE: Final = "svc_benchmark_application"
OPTIONS: Final = f"-c role={ROLE}"
"""The settings of a connection that acts as it."""


@contextmanager
def application_role(maintenance: str) -> Iterator[None]:
    """Enter to have the role on a server; leaving drops it."""
    with psycopg.connect(maintenance, autocommit=True) as conn:
        conn.execute(f"drop role if exists {ROLE}")
        conn.execute(f"create role {ROLE}")
        try:
            yield
        finally:
            conn.execute(f"drop role {ROLE}")
