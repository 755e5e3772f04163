"""The application object that every command is added to, and the options that stand before a command."""

from typing import Annotated

import typer

import svc_pg

from . import output

app = typer.Typer(
    name="svc-pg",
    help="Audit trail, webhooks and an admin console for applications on PostgreSQL.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it by position
    if wanted:
        output.data(f"svc-pg {svc_pg.__version__}")
        raise typer.Exit


@app.callback()
def _before(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    output.debug = debug
