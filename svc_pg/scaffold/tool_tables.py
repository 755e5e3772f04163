"""The tables that tools and libraries keep for themselves, which are no business of an audit log."""

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final

_ALEMBIC: Final = "Alembic's own: the revision of the schema"
_DJANGO: Final = "Django's own: the migrations that have run"
_SESSIONS: Final = "sessions: their keys are secrets, and requests change them all the time"
_FLASK: Final = "Flask-AppBuilder's own: the permissions and views that it has, which its start writes"
_CACHE: Final = "a cache, which is no business data"
_RAILS: Final = "the versions of the schema, of a tool for migrations"
_JOBS: Final = "tasks and their results, which workers change all the time"
_HISTORY: Final = "what a library of the application records of changes: the log has that already"
_DERIVED: Final = "derived: the application makes it from other tables"
_PASSING: Final = "passing: the application keeps it for a short time"
_REQUESTS: Final = "a record of requests, which each of them adds to"

_TOOL_TABLES: Final = {
    "alembic_version": _ALEMBIC,
    "alembic_versions": _ALEMBIC,
    "django_migrations": _DJANGO,
    "django_session": f"Django's {_SESSIONS}",
    "django_content_type": "Django's own: the names of models, which migrate writes",
    "django_admin_log": "Django's own: what its admin records of changes, which the log has already",
    "auth_permission": "Django's own: the permissions that models have, which migrate writes",
    **dict.fromkeys(("ab_permission", "ab_view_menu", "ab_permission_view"), _FLASK),
    **dict.fromkeys(
        (
            "schema_version", "schema_compat_version", "applied_schema_deltas", "applied_module_schemas",
            "schema_migrations", "ar_internal_metadata", "flyway_schema_history", "databasechangelog",
            "databasechangeloglock", "goose_db_version", "knex_migrations", "knex_migrations_lock",
            "_prisma_migrations", "__EFMigrationsHistory", "SequelizeMeta", "aerich", "yoyo_lock", "_yoyo_log",
            "_yoyo_migration", "_yoyo_version", "_sqlx_migrations", "piccolo_migration", "diesel_schema_migrations",
        ),
        _RAILS,
    ),
    **dict.fromkeys(
        (
            "celery_taskmeta", "celery_tasksetmeta", "django_celery_results_*", "django_celery_beat_periodictasks",
            "kombu_message", "kombu_queue", "django_q_*", "background_task", "background_task_completedtask",
            "django_apscheduler_*", "apscheduler_jobs", "procrastinate_*", "oban_jobs", "oban_peers", "good_job*",
            "delayed_jobs", "que_jobs", "solid_queue_*", "river_job", "river_leader",
        ),
        _JOBS,
    ),
    **dict.fromkeys(
        (
            "reversion_revision", "reversion_version", "auditlog_logentry", "easyaudit_*event",
            "wagtailcore_modellogentry", "wagtailcore_pagelogentry",
        ),
        _HISTORY,
    ),
    **dict.fromkeys(
        (
            "thumbnail_kvstore", "easy_thumbnails_*", "wagtailimages_rendition", "wagtailsearch_*",
            "wagtailcore_referenceindex", "wagtailembeds_embed",
        ),
        _DERIVED,
    ),
    **dict.fromkeys(
        ("wagtailadmin_editingsession", "wagtailadmin_formstate", "wagtailcore_uploadedfile"), _PASSING
    ),
    **dict.fromkeys(("axes_access*", "silk_*"), _REQUESTS),
    **dict.fromkeys(("cache", "*_cache", "cache_*"), _CACHE),
}  # fmt: skip
"""The names and patterns of tables, each with the reason why it is left out."""
_OF_HISTORY: Final = (
    ("*_version", {"transaction_id", "operation_type"}),  # SQLAlchemy-Continuum
    ("*", {"history_id", "history_date", "history_type"}),  # django-simple-history
    ("*", {"pgh_id", "pgh_created_at", "pgh_label"}),  # django-pghistory
    ("versions", {"item_type", "item_id", "event", "object"}),  # PaperTrail
    ("*_[aA][uU][dD]", {"rev", "revtype"}),  # Hibernate Envers
)
"""The patterns of tables in which libraries record changes, with the columns that tell them from others."""
_SESSION_KEYS: Final = frozenset(("session_id", "session_key", "sid"))
_TRANSACTION: Final = frozenset(("id", "issued_at", "user_id", "remote_addr"))
"""All columns that SQLAlchemy-Continuum's table ``transaction`` has."""


def reason_of(table: str, columns: Collection[str]) -> str | None:
    """The reason why a table of a tool is left out; None of any other table."""
    for pattern, reason in _TOOL_TABLES.items():
        if fnmatchcase(table, pattern):
            return reason
    if table == "transaction" and {"id", "issued_at"} <= {*columns} <= _TRANSACTION:
        return _HISTORY
    if fnmatchcase(table, "*session*") and _SESSION_KEYS & {*columns} and any(map(_is_end, columns)):
        return _SESSIONS
    if any(fnmatchcase(table, pattern) and needed <= {*columns} for pattern, needed in _OF_HISTORY):
        return _HISTORY
    return None


def _is_end(column: str) -> bool:
    """True of the column that tells when a session ends."""
    return column.startswith("expir")
