"""Statements that sample deliveries by time: they read a bounded number of rows of any number.

Time is cut into stretches, each with its share of the rows that a statement may read. Rows that do not reach back to
the beginning of their stretch are a sample, from which the results of the stretch are estimated. The deliveries of such
a stretch are counted, up to a share of the statement's limit: a burst lasts only a moment, so its rate tells nothing of
the rest.
"""

from typing import Final

from svc_pg.database.statements import statement

_SAMPLES: Final = statement("queries/webhooks/traffic_samples.sql")
_COLUMNS: Final = """pg_catalog.array_agg(b.at order by b.at) as at, pg_catalog.array_agg(b.sent order by b.at) as sent,
       pg_catalog.array_agg(b.delivered order by b.at) as delivered,
       pg_catalog.array_agg(b.failed order by b.at) as failed, pg_catalog.array_agg(b.late order by b.at) as late,
       pg_catalog.array_agg(b.failed_attempts order by b.at) as failed_attempts, bool_or(b.is_estimate) as is_estimate
"""
TRAFFIC: Final = statement("queries/webhooks/traffic.sql").replace("{samples}", _SAMPLES).replace("{columns}", _COLUMNS)
"""The traffic of one endpoint, or of all if ``endpoints`` is an array of null."""

ACTIVITY: Final = (
    statement("queries/webhooks/activity.sql").replace("{samples}", _SAMPLES).replace("{columns}", _COLUMNS)
)
"""The traffic of each of ``endpoints``."""
