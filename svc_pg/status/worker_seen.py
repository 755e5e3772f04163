"""The condition that a worker of webhooks is seen, for the hole ``{worker_seen}`` of statements."""

from typing import Final

from svc_pg.database.statements import statement

WORKER_SEEN: Final = statement("queries/status/worker_seen.sql").strip()
