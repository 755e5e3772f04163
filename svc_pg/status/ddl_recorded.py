"""Find whether DDL on audited tables is recorded."""

from typing import Final, LiteralString

from svc_pg.database.query import Query

_TEXT: Final[LiteralString] = """
select exists (select from pg_event_trigger where evtname = 'svc_audit_ddl' and evtenabled in ('O', 'A')) as is_recorded
"""


def ddl_recorded() -> Query[bool]:
    """True if the event trigger is there and fires."""
    return Query(_TEXT, (), lambda is_recorded: bool(is_recorded))
