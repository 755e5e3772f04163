from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from tests.support.mysql import MySqlServer


@pytest.fixture
def shop(mysql_server: MySqlServer, mysql_database: str) -> Iterator["pymysql.Connection[Any]"]:
    """A connection of the superuser to the module's database."""
    with mysql_server.connect(mysql_database) as conn:
        yield conn
