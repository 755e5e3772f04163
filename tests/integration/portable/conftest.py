"""The audit logs of databases other than PostgreSQL."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support import mysql
from tests.support.logs import Log, mysql_log, sqlite_log


@pytest.fixture(scope="module", params=["sqlite", *mysql.KINDS])
def module_log(
    request: pytest.FixtureRequest, mysql_servers: mysql.Find, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Log]:
    """A log in SQLite, then one on MariaDB and one on MySQL; a case is skipped if the server is missing."""
    if request.param == "sqlite":
        yield sqlite_log(tmp_path_factory.mktemp("log") / "shop.db")
        return
    with mysql_log(mysql.found(mysql_servers, request.param)) as log:
        yield log


@pytest.fixture
def log(module_log: Log) -> Log:
    """The log of the module's database, empty."""
    with closing(module_log.connect()) as conn, closing(conn.cursor()) as cursor:
        if isinstance(module_log.at, Path):
            cursor.execute("insert into svc_audit_purge values ('9')")
            cursor.execute("delete from svc_audit_logs")
            cursor.execute("delete from svc_audit_purge")
            cursor.execute("delete from svc_audit_omissions")
        else:
            cursor.execute("truncate svc.audit_logs")
    return module_log


@pytest.fixture
def conn(log: Log) -> Iterator[Any]:
    """A connection to the database of the log, which commits each statement."""
    with closing(log.connect()) as conn:
        yield conn
