"""A word about DDL that is wanted on record and is not."""

from typing import Any, Final

from svc_pg import Config
from svc_pg.database.query import fetch_one
from svc_pg.status.ddl_recorded import ddl_recorded

from .. import output
from ..optional_read import optional_read

_WORDS: Final = "DDL is not recorded, for lack of the event triggers. svc-pg status says why."


def tell(conn: Any, config: Config) -> None:
    """Say so after an install that could not make the event triggers."""
    if config.audit.ddl and not optional_read(conn, lambda conn: fetch_one(conn, ddl_recorded()), otherwise=True):
        output.words(_WORDS)
