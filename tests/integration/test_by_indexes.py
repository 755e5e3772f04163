"""The settings that leave the planner one choice hold to the end of the outermost block, and not longer."""

import asyncio
from typing import Any

import psycopg
import pytest

from svc_pg.database.by_indexes import aby_indexes, by_indexes, by_ranges


def settings(conn: psycopg.Connection[Any]) -> tuple[str, str]:
    [row] = conn.execute("select current_setting('enable_sort'), current_setting('enable_indexscan')").fetchall()
    return row[0], row[1]


def test_a_block_within_one_with_the_same_choice_leaves_it(postgres: str) -> None:
    with psycopg.connect(postgres) as conn:
        with by_indexes(conn):
            with by_indexes(conn):
                assert settings(conn) == ("off", "on")
            assert settings(conn) == ("off", "on")
            with by_ranges(conn):
                assert settings(conn) == ("off", "off")
                with by_indexes(conn):
                    assert settings(conn)[0] == "off"
            assert settings(conn) == ("off", "on")
        assert settings(conn) == ("on", "on")


def test_an_error_leaves_no_choice_behind(postgres: str) -> None:
    with psycopg.connect(postgres) as conn:
        with pytest.raises(psycopg.errors.DivisionByZero), by_indexes(conn), by_indexes(conn):
            conn.execute("select 1 / 0")
        conn.rollback()
        assert settings(conn) == ("on", "on")
        with by_indexes(conn):
            assert settings(conn) == ("off", "on")


def test_blocks_of_an_async_connection_nest(postgres: str) -> None:
    async def shown(conn: psycopg.AsyncConnection[Any]) -> object:
        return await (await conn.execute("select current_setting('enable_sort')")).fetchone()

    async def nested() -> None:
        async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as conn:
            async with aby_indexes(conn):
                async with aby_indexes(conn):
                    assert await shown(conn) == ("off",)
                assert await shown(conn) == ("off",)
            assert await shown(conn) == ("on",)

    asyncio.run(nested())


def test_blocks_that_end_in_another_order_leave_no_note_behind(postgres: str) -> None:
    with psycopg.connect(postgres) as conn:
        for first_ends_first in (True, False):
            blocks = [by_indexes(conn), by_ranges(conn)]
            for block in blocks:
                block.__enter__()
            for block in blocks if first_ends_first else blocks[::-1]:
                block.__exit__(None, None, None)
            conn.rollback()
            for choose, chosen in ((by_indexes, ("off", "on")), (by_ranges, ("on", "off"))):
                with choose(conn):
                    assert settings(conn) == chosen
