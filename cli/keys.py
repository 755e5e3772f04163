"""The command ``keys new``: one command for each kind of key."""

from typing import Annotated

import typer

from svc_pg.errors import EncryptionKeyError
from svc_pg.seals.keys import SealKey
from svc_pg.webhooks.secrets import new_key

from . import output

app = typer.Typer()
_keys = typer.Typer(help="Make keys.", no_args_is_help=True)
_new = typer.Typer(help="Make a key and print it as a line for the environment.", no_args_is_help=True)
app.add_typer(_keys, name="keys")
_keys.add_typer(_new, name="new")


@_new.command()
def encryption(
    *,
    key_id: Annotated[str, typer.Option("--id", help="The name of the key, which no earlier key has.")] = "k1",
) -> None:
    """Make a key that seals the secrets of webhook endpoints. Keep it: nothing else opens those secrets again."""
    try:
        entry = new_key(key_id)
    except EncryptionKeyError as error:
        raise typer.BadParameter(f"{error.message}. {error.hint}", param_hint="--id") from error
    output.data(f"SVC_ENCRYPTION_KEYS={entry}")


@_new.command()
def seal(
    *,
    key_id: Annotated[str, typer.Option("--id", help="The name of the key, which no earlier key has.")] = "s1",
) -> None:
    """Make a key that signs the seals of the audit log, and its public key, which verifies them."""
    try:
        key = SealKey.new(key_id)
    except EncryptionKeyError as error:
        raise typer.BadParameter(f"{error.message}. {error.hint}", param_hint="--id") from error
    output.data(f"SVC_SEAL_KEY={key.text}")
    output.data(f"SVC_SEAL_PUBLIC_KEYS={key.public.text}")
