"""Find whether anybody reads the log by tenant, which an index makes fast."""

from typing import Final

from svc_pg.database.query import Query
from svc_pg.database.statements import statement

_READ: Final = statement("queries/status/some_tenant.sql")


def some_tenant() -> Query[str]:
    """A tenant that is known, has a token or a session, or is on one of the newest entries, if there is one."""
    return Query(_READ, (), lambda tenant: tenant)
