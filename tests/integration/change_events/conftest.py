from collections.abc import Iterator
from typing import Any

import psycopg
import pytest


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database) as conn:
        yield conn
        if not conn.closed:
            conn.rollback()
