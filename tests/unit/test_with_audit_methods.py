from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from svc_pg.integrations.psycopg import check_overridden


class Renamed:
    """A connection whose statements begin with another method."""

    def _exec_command(self, command: object, result_format: object) -> Iterator[object]:
        yield command, result_format

    def _begin_query(self) -> Iterator[None]:
        yield


class Bypassing(Renamed):
    """A connection that sends BEGIN in another way."""

    def _start_query(self) -> Iterator[None]:
        yield from self._begin_query()


class Plain(Renamed):
    """A connection whose methods are no generators any more."""

    def _start_query(self) -> None:
        self._exec_command(b"", 0)


def test_the_installed_psycopg_has_the_methods_that_are_overridden() -> None:
    check_overridden()
    check_overridden(psycopg.AsyncConnection, psycopg.AsyncCursor)


@pytest.mark.parametrize("connection", [Renamed, Bypassing, Plain])
def test_a_psycopg_without_them_is_refused_instead_of_losing_actors(connection: Any) -> None:
    with pytest.raises(ImportError, match="no actor could be set"):
        check_overridden(connection)
