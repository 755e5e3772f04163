"""A record whose newest entries, more than ``blame`` looks at, changed one field alone, each in a transaction."""

from typing import Any, Final, LiteralString

import psycopg

from svc_pg.audit.past.blame import MOST_ENTRIES

_FILL: Final[LiteralString] = """
insert into svc.audit_logs (xact_id, table_name, table_oid, operation, record_id, before_data, after_data,
                            changed_fields, redacted_fields)
select -n, 'public.' || %(table)s, 0, 'UPDATE', %(record)s, image || jsonb_build_object(%(field)s::text, n),
       image || jsonb_build_object(%(field)s::text, n + 1), array[%(field)s], last.redacted_fields
  from generate_series(1, %(most)s + 500) n
 cross join (
    select l.after_data as image, l.redacted_fields from svc.audit_logs l
     where l.table_name = 'public.' || %(table)s and l.record_id = %(record)s order by l."timestamp" desc, l.id desc
     limit 1
 ) last
"""


def lengthen(conn: psycopg.Connection[Any], table: str, record: str, field: str) -> None:
    """Add the entries to the log, as if the table had them; its row stays as it is."""
    conn.execute(_FILL, {"table": table, "record": record, "field": field, "most": MOST_ENTRIES})
