"""Say that sessions of a tenant lack an index of the log, for the commands ``install``, ``plan`` and ``status``."""

from typing import Any

from svc_pg import Config
from svc_pg.database.query import fetch
from svc_pg.status.tenant_reads import some_tenant

from .. import output
from ..optional_read import optional_read


def tell(conn: Any, config: Config) -> None:
    """Say it if there are tenants, and the configuration does not choose the index."""
    known: list[str] = optional_read(conn, lambda conn: fetch(conn, some_tenant()), [])
    if known and "tenant" not in config.audit.indexes:
        output.words(
            "There are tenants, whose sessions read the log by tenant, and no index for that:"
            ' add "tenant" to indexes below [audit].'
        )
