"""The address of the console, for the links that commands print."""

import os
from typing import Annotated, Final

import typer

from svc_pg.settings import Settings
from svc_pg.settings.addresses import origin, page_url, unreachable

from .. import output

HOST_VARIABLE: Final = "SVC_SERVE_HOST"
PORT_VARIABLE: Final = "SVC_SERVE_PORT"
"""The variables by which ``serve`` is told where to listen."""
PORT: Final = 8000
"""The port of ``serve`` without a variable or an option."""
PORTS: Final = range(65536)
"""The ports that ``serve`` takes; 0 is one that is free then, and so no link can name it."""

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The address of the console. Default: that of SVC_CONSOLE_PUBLIC_URL, else SVC_SERVE_PORT or 8000 of this"
        " machine.",
    ),
]


def base_of(url: str | None) -> str:
    """The address without a slash at its end; only the origin of the setting is used."""
    if url is None:
        public = Settings.load().console_public_url
        return _of_this_machine() if public is None else origin(public)
    try:
        return page_url(url).rstrip("/")
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--url") from error


def _of_this_machine() -> str:
    """The address at which ``serve`` listens here as its variables say; a guess, and said to be, without them."""
    port = os.environ.get(PORT_VARIABLE, "")
    if port and not (port.isascii() and port.isdigit() and int(port) in PORTS):  # as serve says of it
        raise typer.BadParameter(f"{port!r} is no port", param_hint=PORT_VARIABLE)
    known = int(port or 0)
    if not known:
        output.words(
            f"note: {PORT} is a guess, the port of svc-pg serve by default. If it is elsewhere, pass --url, or set"
            " SVC_CONSOLE_PUBLIC_URL."
        )
    host = os.environ.get(HOST_VARIABLE, "")
    is_own = host and host not in ("0.0.0.0", "::")  # noqa: S104 - which is no address to open
    shown = f"[{host}]" if is_own and ":" in host else host if is_own else "127.0.0.1"
    return f"http://{shown}:{known or PORT}"


def warn_of(base: str) -> None:
    """Print a warning if people elsewhere cannot open links with this address."""
    if warning := unreachable(base):
        output.words(f"{warning} Or pass --url.")
