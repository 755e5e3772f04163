"""Install the triggers of other tools, as their own tooling makes them."""

import os
import subprocess
import sys
from typing import Any

import psycopg

from tests.benchmarks.installed import PeerError

CONNINFO_VARIABLE = "SVC_BENCHMARK_CONNINFO"


def install_postgresql_audit(conninfo: str, *, level: str) -> None:
    """Run the steps of an SQLAlchemy project's migration: the tables of the versioning manager, then its trigger."""
    import sqlalchemy
    from postgresql_audit import VersioningManager  # type: ignore[import-untyped]
    from sqlalchemy.orm import declarative_base

    base: Any = declarative_base()
    manager = VersioningManager(use_statement_level_triggers=level == "statement")
    manager.init(base)
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(conninfo), poolclass=sqlalchemy.NullPool
    )
    with engine.begin() as connection:
        base.metadata.create_all(connection)
        connection.execute(manager.build_audit_table_query(sqlalchemy.Table("account", base.metadata)))
    manager.remove_listeners()


def install_pghistory(conninfo: str, *, level: str) -> None:
    """Migrate a Django project of one model; in a process of its own, since Django is configured once a process.

    Raises PeerError, for example if Django does not support this version of PostgreSQL.
    """
    command = [sys.executable, "-m", "tests.benchmarks.capture.pghistory_project", level]
    environment = {**os.environ, CONNINFO_VARIABLE: conninfo}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PeerError(done.stderr.strip().rpartition("\n")[2])
