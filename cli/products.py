"""The products of the commands that install: ``--only``, ``--all``, and a word about one that is left out."""

from typing import Annotated, Any, Final

import typer

from svc_pg import Config
from svc_pg.config.products import PRODUCTS
from svc_pg.database.query import fetch_one
from svc_pg.database.sql_products import ProductId
from svc_pg.errors import audit_not_installed
from svc_pg.status.installed_products import audit_installed
from svc_pg.status.webhooks_installed import webhooks_installed

from . import output
from .optional_read import optional_read

_WORDS: Final = "Only the audit trail is installed here. To add webhooks: svc-pg install --all"
_WORDS_WITHOUT_AUDIT: Final = "Only webhooks are installed here. To add the audit trail: svc-pg install --all"


def _product(text: str | None) -> str | None:
    if text not in (None, *PRODUCTS):
        raise typer.BadParameter(f"{text!r} is no product; write audit or webhooks")
    return text


Only = Annotated[
    str | None,
    typer.Option(
        "--only",
        metavar="|".join(PRODUCTS),
        callback=_product,
        help="Only the audit trail, or only webhooks; later installs keep to that. Default: as the configuration says,"
        " or as last time; at first, both.",
        show_default=False,
    ),
]
All = Annotated[bool, typer.Option("--all", help="Both: adds the one that a database lacks.")]


def with_products(config: Config, *, only: str | None, everything: bool) -> Config:
    """The configuration with the products that the options name. Raises wrong usage if it names others."""
    if only is None and not everything:
        return config
    if only is not None and everything:
        raise typer.BadParameter("--all adds what --only leaves out; give one of them")
    option = "--all" if everything else "--only"
    products: list[ProductId] = [each for each in PRODUCTS if everything or each == only]
    if config.products not in (None, products):
        names = ", ".join(f'"{product}"' for product in config.products or ())
        raise typer.BadParameter(
            f"the configuration says products = [{names}]; change it there", param_hint=f"'{option}'"
        )
    return config.model_copy(update={"products": products})


def has_audit(conn: Any) -> bool:
    """True if the database has the audit trail, or if that is not known."""
    return optional_read(conn, lambda conn: fetch_one(conn, audit_installed()), otherwise=True)


def require_audit(conn: Any) -> None:
    """Raise NotInstalledError if the database has webhooks alone, where nothing is there to be proved."""
    if not has_audit(conn):
        raise audit_not_installed()


def tell(conn: Any, config: Config) -> None:
    """Say that only one product is installed, unless the configuration says so itself."""
    if config.products is not None:
        return
    if not optional_read(conn, lambda conn: fetch_one(conn, webhooks_installed()), otherwise=True):
        output.words(_WORDS)
    elif not has_audit(conn):
        output.words(_WORDS_WITHOUT_AUDIT)
