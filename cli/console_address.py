"""The address of the console, for the links that commands print."""

from typing import Annotated

import typer

from svc_pg.settings import Settings
from svc_pg.settings.addresses import origin, page_url, unreachable

from . import output

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The address of the console. Default: that of SVC_CONSOLE_PUBLIC_URL, else port 8000 of this machine.",
    ),
]


def base_of(url: str | None) -> str:
    """The address without a slash at its end; only the origin of the setting is used."""
    if url is None:
        public = Settings.load().console_public_url
        return "http://127.0.0.1:8000" if public is None else origin(public)
    try:
        return page_url(url).rstrip("/")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--url") from error


def warn_of(base: str) -> None:
    """Print a warning if people elsewhere cannot open links with this address."""
    if warning := unreachable(base):
        output.words(f"{warning} Or pass --url.")
