"""The command ``webhooks portal-link``."""

from datetime import timedelta
from typing import Annotated

import typer

from svc_pg.database.query import fetch_one

from .. import new_tenant, output, records
from ..console.address import Url, base_of, warn_of
from ..database import connect
from ..named_ids import tenant_id
from ..operator import operator
from ..options import PostgresUrl, duration

app = typer.Typer()


@app.command("portal-link")
def portal_link(
    *,
    tenant: Annotated[str, typer.Option(metavar="TENANT", help="The tenant whose webhooks it shows.")],
    expires: Annotated[timedelta, duration(meaning="How long the visit lasts, at most 1d.")] = "1h",  # type: ignore[assignment]  # Typer parses it
    url: Url = None,
    database_url: PostgresUrl = None,
) -> None:
    """Print a link with which a customer manages the webhooks of its tenant, to be opened once within ten minutes."""
    from svc_pg.console.built_in.webhook_portal import address  # here, because other commands need no web framework
    from svc_pg.console.sign_in import known_tenants, portal_links

    base = base_of(url)
    tenant = tenant_id(tenant, database_url)
    wanted = portal_links.link(tenant, lifetime=expires)
    with connect(database_url) as conn, operator(conn):
        known_tenants.refuse_unknown(conn, tenant)
        link = fetch_one(conn, wanted)
    output.data(f"{base}{address(link.token)}")
    if link.is_new_tenant:
        new_tenant.tell(tenant)
    output.words(f"Good once, until {records.minute(link.expires_at)}. To end it: svc-pg console revoke {link.id}")
    warn_of(base)
