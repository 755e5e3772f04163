"""The role of an application: writes of a superuser are cheaper, because PostgreSQL checks no privileges for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

ROLE: Final = "svc_benchmark_application"
OPTIONS: Final = f"-c role={ROLE}"
"""The settings of a connection with this role."""


@contextmanager
def application_role(maintenance: str) -> Iterator[None]:
    """Enter to create the role on a server; leaving drops it."""
    with psycopg.connect(maintenance, autocommit=True) as conn:
        conn.execute(f"drop role if exists {ROLE}")
        conn.execute(f"create role {ROLE}")
        try:
            yield
        finally:
            conn.execute(f"drop role {ROLE}")
