"""The products of the commands that install: ``--only audit``, ``--all``, and a word about those that are left out."""

from typing import Annotated, Any, Final

import typer

from svc_pg import Config
from svc_pg.config.products import PRODUCTS, ProductId
from svc_pg.database.query import fetch_one
from svc_pg.status.webhooks_installed import webhooks_installed

from . import output
from .optional_read import optional_read

_WORDS: Final = "Only the audit trail is installed here. To add webhooks: svc-pg install --all"


def _audit(text: str | None) -> str | None:
    match text:
        case None | "audit":
            return text
        case "webhooks":
            raise typer.BadParameter(
                "webhooks need the audit log, which has the changes of endpoints; leave it out: without"
                " [[audit.tables]] in the configuration, no table of yours is recorded"
            )
        case _:
            raise typer.BadParameter(f"{text!r} is no product that stands alone; write audit")


Only = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="audit",
        callback=_audit,
        help="Only the audit trail, without webhooks; later installs keep to that. Default: as the configuration says,"
        " or as last time; at first, both.",
        show_default=False,
    ),
]
All = Annotated[bool, typer.Option("--all", help="Both: adds webhooks to a database that has only the audit trail.")]


def with_products(config: Config, *, only: str | None, everything: bool) -> Config:
    """The configuration with the products that the options name. Raises wrong usage if it names others."""
    if only is None and not everything:
        return config
    if only is not None and everything:
        raise typer.BadParameter("--all adds what --only leaves out; give one of them")
    option, products = ("--all", [*PRODUCTS]) if everything else ("--only", list[ProductId](["audit"]))
    if config.products not in (None, products):
        names = ", ".join(f'"{product}"' for product in config.products or ())
        raise typer.BadParameter(
            f"the configuration says products = [{names}]; change it there", param_hint=f"'{option}'"
        )
    return config.model_copy(update={"products": products})


def tell(conn: Any, config: Config) -> None:
    """Say that only the audit trail is installed, unless the configuration says so itself."""
    has_webhooks = optional_read(conn, lambda conn: fetch_one(conn, webhooks_installed()), otherwise=True)
    if config.products is None and not has_webhooks:
        output.words(_WORDS)
