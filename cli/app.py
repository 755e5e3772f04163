"""The program ``svc-pg``: the options before a command, and the commands, which are imported when called."""

import gc
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup

import svc_pg
from svc_pg.formats.pydantic_errors import reason

from . import output


class Summary(NamedTuple):
    """One line of the program's help, and the module whose ``app`` has the command."""

    panel: str
    module: str
    help: str


COMMANDS: Final = {
    "init": Summary("Database", "init", "Propose svc-pg.toml, and tell what comes next."),
    "install": Summary("Database", "schema", "Make the database equal to the configuration."),
    "plan": Summary("Database", "schema", "Print the SQL that install would execute."),
    "status": Summary("Database", "schema", "Show what is installed and what differs."),
    "uninstall": Summary("Database", "schema", "Remove triggers, views and functions, and the data if asked."),
    "migrate": Summary("Database", "migrate", "Write an SQL script, or an Alembic or Django migration."),
    "ask": Summary("Audit", "ask", "Tell who changed a record, when and what, and who was told of it."),
    "log": Summary("Audit", "log", "Show the newest entries of the audit log."),
    "history": Summary("Audit", "time_travel", "Show the states of one record."),
    "related": Summary("Audit", "related", "Show the changes of a record and of the rows that refer to it."),
    "as-of": Summary("Audit", "time_travel", "Show a record or a table as it was at a time."),
    "diff": Summary("Audit", "change_diff", "Show what an entry or a transaction changed."),
    "reads": Summary("Audit", "reads", "Show who read a record, or records of a table."),
    "blame": Summary("Audit", "time_travel", "Show who last changed each field of a record."),
    "revert": Summary("Audit", "change_diff", "Print the SQL that reverts a change."),
    "export": Summary("Audit", "export", "Write the audit log as JSON, CSV or Parquet."),
    "rebuild": Summary("Audit", "rebuild", "Write a table's rows as SQL, from an export alone."),
    "purge": Summary("Audit", "purge", "Remove old entries of the audit log."),
    "erase": Summary("Audit", "erase", "Erase a person's record from the log."),
    "hold": Summary("Audit", "hold", "Keep a record from purge and erasure."),
    "reconcile": Summary("Audit", "reconcile", "Compare audited tables with the audit log."),
    "seal": Summary("Audit", "seals", "Seal the audit log."),
    "verify": Summary("Audit", "seals", "Compare the audit log with its seals."),
    "prove": Summary("Audit", "seals", "Print a proof of an entry."),
    "check": Summary("Audit", "seals", "Check a proof, without a database."),
    "evidence": Summary("Audit", "evidence", "Write entries and seals for an auditor without a database."),
    "send": Summary("Webhooks", "send", "Send an event."),
    "worker": Summary("Webhooks", "worker", "Deliver webhooks and maintain the database."),
    "listen": Summary("Webhooks", "listen", "Receive webhooks on this machine, for development."),
    "webhooks": Summary("Webhooks", "webhooks.endpoint_commands", "Manage endpoints and their deliveries."),
    "keys": Summary("Webhooks", "keys", "Make keys."),
    "serve": Summary("Console", "serve", "Serve the console and the webhooks API."),
    "console": Summary("Console", "console.commands", "Set the console up, and manage its sessions."),
    "demo": Summary("Console", "demo", "Try everything out in a small shop."),
}


def load(name: str) -> Any:
    """Import one of COMMANDS, a TyperCommand or a TyperGroup."""
    module = import_module(f".{COMMANDS[name].module}", __package__)
    command = typer.main.get_group(module.app).commands[name]
    for member in _all(command):
        _hide_types_of_flags(member.get_params(typer.Context(member)))
        member.help = _unwrapped(member.help or "")
    return command


def _unwrapped(text: str) -> str:
    """A docstring whose paragraphs are lines, because the terminal has a width of its own."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


class _Program(TyperGroup):
    """A group that knows its commands from COMMANDS alone, until one is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=summary.help, rich_help_panel=summary.panel)
            for name, summary in COMMANDS.items()
        }

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_types_of_flags(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = load(name)
            if not gc.isenabled():
                gc.freeze()
                gc.enable()
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Call the command, with an error of pydantic about an option put into our words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = "; ".join(reason(details) for details in error.__cause__.errors())
            raise


def _all(command: Any) -> Iterable[Any]:
    yield command
    for member in getattr(command, "commands", {}).values():
        yield from _all(member)


def _hide_types_of_flags(parameters: list[Any]) -> list[Any]:
    """Leave the type out of a flag's help, because a flag takes no value."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


app = typer.Typer(
    name="svc-pg",
    cls=_Program,
    help="Audit trail, webhooks and an admin console for applications on PostgreSQL.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
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
