"""The command ``demo``."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import output
from ..options import Json

app = typer.Typer()


class Database(StrEnum):
    """The database of the demo."""

    postgres = "postgres"
    sqlite = "sqlite"


@app.command()
def demo(
    *,
    database: Annotated[
        Database, typer.Option(help="A PostgreSQL of its own, or a file of SQLite for the audit half alone.")
    ] = Database.postgres,
    once: Annotated[
        bool, typer.Option("--once", help="End after the tables, without waiting for Ctrl-C, and leave nothing.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write the console's pages as files that need no server to a new folder, and end."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run a small shop with audit, webhooks and console on an embedded PostgreSQL, and show the results.

    With --database sqlite: the audit half, with no server at all; its file stays unless you add --once.
    """
    if export is not None and database is Database.sqlite:
        raise typer.BadParameter("the demo in a file of SQLite has no pages", param_hint="--export")
    try:
        if export is not None:
            output.words("A small shop, on a PostgreSQL of its own, whose pages become files:")
            from .export import export_demo

            export_demo(export, as_json=json)
            return
        is_good = _run(database, stay=not once, as_json=json)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(130) from None
    if not is_good:
        output.words("error: not all was recorded and delivered as it should be; see above")
        raise typer.Exit(1)


def _run(database: Database, *, stay: bool, as_json: bool) -> bool:
    if database is Database.sqlite:
        output.words("A small shop, in a file of SQLite:")
        from .sqlite import run_file_demo

        return run_file_demo(stay=stay, as_json=as_json)
    output.words("A small shop, on a PostgreSQL of its own:")
    from .run import run_demo  # it loads the web server and client, which other commands do not need

    return asyncio.run(run_demo(stay=stay, as_json=as_json))
