"""The command ``keys new``."""

from enum import StrEnum
from typing import Annotated

import typer

from svc_pg.webhooks.secrets import new_key

from . import output

_keys = typer.Typer(help="Make keys.", no_args_is_help=True)


class KeyKind(StrEnum):
    """What a key is for."""

    encryption = "encryption"


def add_to(app: typer.Typer) -> None:
    """Add the group."""
    _keys.command("new")(new)
    _keys.callback()(lambda: None)
    app.add_typer(_keys, name="keys")


def new(
    kind: Annotated[KeyKind, typer.Argument(help="encryption seals the secrets of webhook endpoints.")],
    *,
    key_id: Annotated[str, typer.Option("--id", help="A name that tells this key from the ones before.")] = "k1",
) -> None:
    """Make a key and print it as a line for the environment. Keep it: what it sealed cannot be opened without it."""
    del kind  # there is one so far
    output.data(f"SVC_ENCRYPTION_KEYS={new_key(key_id)}")
