"""The command ``demo``."""

import asyncio
from typing import Annotated

import typer

from .. import output
from ..options import Json

app = typer.Typer()


@app.command()
def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the tables, without waiting for Ctrl-C.")] = False,
    json: Json = False,
) -> None:
    """Run a small shop with audit, webhooks and console on an embedded PostgreSQL, and show what happened."""
    output.words("A small shop, on a PostgreSQL of its own:")
    from .run import run_demo  # it loads the web server and client, which other commands do not need

    try:
        is_good = asyncio.run(run_demo(stay=not once, as_json=json))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(130) from None
    if not is_good:
        output.words("error: a change was not recorded or a webhook was not delivered; see above")
        raise typer.Exit(1)
