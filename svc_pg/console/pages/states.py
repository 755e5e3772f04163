"""The tone, the icon and the word of each state that pages show, the same on all of them."""

from collections.abc import Mapping
from typing import Final

State = tuple[str, str, str]

DELIVERIES: Final[Mapping[str, State]] = {
    "delivered": ("ok", "ok", "Delivered"),
    "pending": ("wait", "wait", "Pending"),
    "failed": ("bad", "bad", "Failed"),
    "canceled": ("off", "ban", "Canceled"),
}
ENDPOINTS: Final[Mapping[str, State]] = {
    "active": ("ok", "ok", "Active"),
    "healthy": ("ok", "ok", "Active"),
    "failing": ("wait", "wait", "Failing"),
    "broken": ("wait", "wait", "Held back"),
    "throttled": ("wait", "wait", "Asked to wait"),
    "paused": ("wait", "pause", "Paused"),
    "disabled": ("bad", "ban", "Disabled"),
}
"""By their health, or, if that is not known, by their status."""

COVERAGE: Final[Mapping[str, State]] = {
    "audited": ("ok", "ok", "On record"),
    "drifting": ("bad", "warn", "Drifting"),
    "not_audited": ("off", "ban", "Not on record"),
}
COVERAGE_REASONS: Final = {
    "excluded": "excluded by the configuration",
    "foreign_table": "a foreign table: its rows are elsewhere",
    "materialized_view": "a materialized view",
    "no_such_table": "there is no such table",
    "not_in_configuration": "the configuration does not name it",
    "trigger_disabled": "a trigger is disabled",
    "trigger_missing": "a trigger is missing",
    "view": "a view",
}
"""The reasons for which a table is not on record, or is drifting, in words."""

OUTCOMES: Final = {
    "success": "Delivered",
    "http_error": "Refused",
    "timeout": "Timed out",
    "connect_error": "No connection",
    "tls_error": "No secure connection",
    "dns_error": "Unknown host",
    "blocked": "Blocked",
    "lost": "Lost with its worker",
}
"""Of attempts, in words."""

SEVERITIES: Final[Mapping[str, State]] = {
    "critical": ("bad", "warn", "Critical"),
    "high": ("wait", "high", "High"),
    "medium": ("off", "info", "Medium"),
    "low": ("off", "info", "Low"),
}
"""The gravest first."""

EVENTS: Final[Mapping[str, State]] = {
    "link_requested": ("off", "key", "Asked for a code"),
    "mail_failed": ("bad", "bad", "Mail with a code failed"),
    "code_rejected": ("wait", "warn", "Typed a wrong code"),
    "link_locked": ("bad", "lock", "Locked after wrong codes"),
    "code_accepted": ("off", "check", "Typed the right code"),
    "signed_in": ("ok", "door", "Signed in"),
    "session_revoked": ("off", "ban", "Session ended"),
    "log_exported": ("info", "down", "Exported the audit log"),
    "call_refused": ("wait", "lock", "Was refused"),
    "link_made": ("info", "key", "Code made in the shell"),
    "token_added": ("info", "plus", "Token made"),
    "token_revoked": ("off", "ban", "Token revoked"),
    "portal_link_made": ("info", "key", "Link to the portal made"),
    "portal_link_revoked": ("info", "ban", "Link to the portal ended"),
    "portal_opened": ("ok", "door", "Opened the portal"),
    "view_added": ("info", "plus", "View of the team kept"),
    "view_changed": ("info", "edit", "View of the team changed"),
    "view_deleted": ("off", "ban", "View of the team deleted"),
}
"""Of the console itself."""

VISITS: Final[Mapping[str, str]] = {
    "3600": "1 hour",
    "900": "15 minutes",
    "14400": "4 hours",
    "86400": "1 day",
}
"""The seconds for which a visit to the portal may last, with their words; the first is the usual."""
