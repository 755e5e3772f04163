"""Options that several commands take."""

import re
from datetime import datetime, timedelta
from typing import Annotated, Final

import typer
from typer.models import OptionInfo

from svc_pg.formats import durations
from svc_pg.formats.periods import Period, period

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL|CONNINFO",
        help="The database, of PostgreSQL, SQLite, MySQL or MariaDB. Default: DATABASE_URL, or libpq's PG* variables.",
    ),
]
PostgresUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL|CONNINFO", help="The PostgreSQL database. Default: DATABASE_URL, or libpq's PG* variables."
    ),
]
ConfigReference = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE|MODULE:ATTRIBUTE",
        help="The configuration. Default: svc-pg.toml in this folder, if there is one.",
    ),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="The table: customer, or sales.customer.")]
Key = Annotated[
    str,
    typer.Argument(
        metavar="KEY", help="The record's key; several columns are a JSON array, spaced as in the log: '[3, 7]'."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="The number to list, newest first.")]
After = Annotated[
    str | None, typer.Option(metavar="CURSOR", help="Continue after this cursor, which the last list printed.")
]

Between = Annotated[
    str | None,
    typer.Option(
        "--between",
        metavar="PERIOD",
        help="In place of --since and --until: '10:00 to 11:00' of today, '2026-01-31 10:00 to 11:00', "
        "'2026-01-31 to 2026-02-01', or a day: yesterday. UTC, unless the times have zones.",
    ),
]

Prune = Annotated[bool, typer.Option("--prune", help="Remove what the configuration no longer names.")]

Roles = Annotated[
    bool | None,
    typer.Option(
        "--roles/--no-roles",
        help="Give everything to the roles svc_*, or to the installer. Default: as last time; at first, to the roles.",
        show_default=False,
    ),
]

_ZERO: Final = re.compile("0[smhdw]?")


def duration(*, meaning: str, or_zero: bool = False) -> OptionInfo:
    """An option that becomes a timedelta; with ``or_zero`` it may also be 0, with or without a unit."""

    def read(value: str | timedelta) -> timedelta:
        if or_zero and _ZERO.fullmatch(str(value)):
            return timedelta(0)
        try:
            return durations.parse(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    option: OptionInfo = typer.Option(parser=read, metavar="DURATION", help=meaning)
    return option


def point_in_time(*, meaning: str) -> OptionInfo:
    """An option with a text for ``svc_pg.formats.durations.point_in_time``."""
    option: OptionInfo = typer.Option(callback=readable_time, metavar="DURATION|TIME", help=meaning)
    return option


def period_of(between: str | None, *, since: object, until: object) -> Period | None:
    """The period of the option ``--between``, if it is given. Raises wrong usage, also beside the other two."""
    if between is None:
        return None
    for name, value in (("since", since), ("until", until)):
        if value is not None:
            raise typer.BadParameter(f"it has a beginning and an end, so leave out --{name}", param_hint="'--between'")
    try:
        return period(between)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--between'") from error


def exact_time(text: str | None, *, option: str, why: str) -> datetime | None:
    """The time of an option of ``point_in_time`` that can be no duration, for which ``why`` gives the reason.

    Raises wrong usage.
    """
    point = None if text is None else durations.point_in_time(text)
    if isinstance(point, str):
        raise typer.BadParameter(f"write a time, because {why}", param_hint=option)
    return point


def readable_time(text: str | None) -> str | None:
    """Check a text for ``svc_pg.formats.durations.point_in_time``. Raises wrong usage."""
    try:
        if text is not None:
            durations.point_in_time(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text
