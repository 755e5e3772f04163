"""Options that several commands take, and what the library needs that is made of them."""

from typing import Annotated

import typer

from svc_pg import Config
from svc_pg.errors import EncryptionKeyError
from svc_pg.settings import Settings
from svc_pg.webhooks.guard import Guard
from svc_pg.webhooks.secrets import KeyRing

DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="PostgreSQL URL or conninfo; else DATABASE_URL, else libpq's PG* variables.", show_default=False),
]
ConfigReference = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE|MODULE:ATTRIBUTE", help="The configuration; else ./svc-pg.toml, if any."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def encryption_keys() -> KeyRing:
    """The keys that seal endpoint secrets. Raises EncryptionKeyError where there are none."""
    configured = Settings.load().encryption_keys
    if configured is None:
        raise EncryptionKeyError(
            "SVC_ENCRYPTION_KEYS is not set",
            hint="Set what the other workers and consoles have. The very first: svc-pg keys new encryption",
        )
    return KeyRing.parse(configured.get_secret_value())


def guard(config: Config) -> Guard:
    """What endpoints the configuration allows."""
    return Guard(allow_cidrs=tuple(config.webhooks.allow_cidrs), allow_http=config.webhooks.allow_http)
