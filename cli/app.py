"""The application object that every command is added to, and the options that stand before a command."""

from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

import svc_pg
from svc_pg.pydantic_errors import reason

from . import output


class _Group(TyperGroup):
    """Says in our words what is wrong with an option, where Typer passes on pydantic's."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = "; ".join(reason(details) for details in error.__cause__.errors())
            raise


app = typer.Typer(
    name="svc-pg",
    cls=_Group,
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
