"""The query of what has changed in a database of PostgreSQL, as a whole and of its audit log alone."""

from typing import Final

from svc_pg.database.statements import statement
from svc_pg.status.webhooks_installed import with_webhooks

STATE: Final = statement("queries/console/live_updates.sql")
"""A text for each topic, which changes when the topic does."""
NEWEST: Final = "select audit from (" + with_webhooks(STATE, has_webhooks=False) + ") state"  # noqa: S608 - a file
"""That of the log alone, as ``audit``, also in a database without webhooks."""
