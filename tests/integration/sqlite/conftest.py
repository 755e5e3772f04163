import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.sqlite import MODULES, connect


@pytest.fixture(params=MODULES)
def conn(request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """A database in memory."""
    with closing(connect(request.param)) as made:
        yield made
