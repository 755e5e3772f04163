"""Measure installs over the number of audited tables: the first, a second that changes nothing, and a status."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from rich.table import Table

from svc_pg import Config, schema
from tests.benchmarks import command, saved
from tests.benchmarks.bars import COLOURS, bar, picture, text
from tests.support.postgres import DURABLE, new_database, server
from tests.support.traffic import counting

_TABLES: Final = (1, 60, 200, 1000)
_QUICK: Final = (1, 20, 60)
_TOGETHER: Final = 100  # tables made in a transaction, whose locks have to fit
_TABLE: Final = """
create table if not exists {} (
    id bigint generated always as identity primary key,
    name text, secret text, amount numeric, at timestamptz, extra jsonb
)
"""
_WIDTH: Final = 900
_LEFT: Final = 190
_LINE: Final = 24


@dataclass(frozen=True, slots=True)
class Measured:
    """One step at one number of tables."""

    tables: int
    step: str
    seconds: float
    statements: int


def main() -> int:
    options = _parser().parse_args()
    command.end_on_sigterm()
    with server(options.postgres, settings=DURABLE) as maintenance:
        versions = command.versions(maintenance)
        measured = [
            each for tables in (_QUICK if options.quick else options.tables) for each in _measure(maintenance, tables)
        ]
    saved.save(options.save, "installing", [asdict(each) for each in measured], versions)
    if options.json:
        command.output().print_json(json.dumps({"versions": versions, "installs": [asdict(each) for each in measured]}))
    else:
        _show(measured, versions)
    _draw(measured, versions, options.picture)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = command.drawing_parser("installing", __doc__)
    parser.add_argument("--tables", type=int, nargs="+", default=_TABLES, help="how many tables")
    return parser


def _measure(maintenance: str, tables: int) -> Iterator[Measured]:
    config = every_table()
    with new_database(maintenance) as conninfo, psycopg.connect(conninfo) as conn:
        make_tables(conn, tables)
        steps: Sequence[tuple[str, Callable[[psycopg.Connection[Any], Config], object]]] = (
            ("first install", schema.install),
            ("second install", schema.install),
            ("status", schema.status),
        )
        for name, step in steps:
            command.words.print(f"{tables} tables: {name}")
            with counting(conn) as traffic:
                started = time.monotonic()
                step(conn, config)
                seconds = time.monotonic() - started
            yield Measured(tables, name, round(seconds, 3), traffic.statements)


def every_table() -> Config:
    """A configuration with each table of schema public."""
    config = Config()
    config.audit.table("public.*", redact=["secret"])
    return config


def make_tables(conn: psycopg.Connection[Any], count: int, *, prefix: str = "t") -> None:
    """Make tables with numbers from 0, except those that are there, in transactions of up to a hundred."""
    for start in range(0, count, _TOGETHER):
        with conn.transaction():
            for index in range(start, min(count, start + _TOGETHER)):
                conn.execute(sql.SQL(_TABLE).format(sql.Identifier(f"{prefix}{index}")))


def _show(measured: Sequence[Measured], versions: dict[str, str]) -> None:
    table = Table(title=", ".join(f"{name} {version}" for name, version in versions.items()))
    for heading in ("tables", "step", "seconds", "statements"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    for each in measured:
        table.add_row(str(each.tables), each.step, f"{each.seconds:.2f}", str(each.statements))
    command.output().print(table)


def _draw(measured: Sequence[Measured], versions: dict[str, str], file: Path) -> None:
    longest = max(each.seconds for each in measured)
    body = []
    for line, each in enumerate(measured):
        y = 80 + line * _LINE
        length = (_WIDTH - _LEFT - 80) * each.seconds / longest
        body += [
            text(_LEFT - 10, y + 13, f"{each.tables}: {each.step}", size=12, anchor="end"),
            bar(_LEFT, y, length=length, thickness=_LINE - 8, colour=COLOURS[line % 3]),
            text(_LEFT + length + 6, y + 13, f"{each.seconds:.2f} s", size=12),
        ]
    subtitle = ", ".join(f"{name} {version}" for name, version in versions.items())
    height = 100 + len(measured) * _LINE
    file.write_text(
        picture(body, title="Install over the number of tables", subtitle=subtitle, width=_WIDTH, height=height)
    )
    command.words.print(f"picture: {file}")


if __name__ == "__main__":
    sys.exit(main())
