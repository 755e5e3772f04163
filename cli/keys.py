"""The command ``keys new``: one command for each kind of key."""

from typing import Annotated

import typer

from svc_pg.errors import EncryptionKeyError
from svc_pg.webhooks.secrets import new_key

from . import output

_keys = typer.Typer(help="Make keys.", no_args_is_help=True)
_new = typer.Typer(help="Make a key and print it as a line for the environment.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the group."""
    _new.command()(encryption)
    _new.callback()(lambda: None)  # a group also while it has one command
    _keys.add_typer(_new, name="new")
    app.add_typer(_keys, name="keys")


def encryption(
    *,
    key_id: Annotated[str, typer.Option("--id", help="A name that tells this key from the ones before.")] = "k1",
) -> None:
    """Make a key that seals the secrets of webhook endpoints. Keep it: what it sealed cannot be opened without it."""
    try:
        entry = new_key(key_id)
    except EncryptionKeyError as error:
        raise typer.BadParameter(f"{error.message}. {error.hint}", param_hint="--id") from error
    output.data(f"SVC_ENCRYPTION_KEYS={entry}")
