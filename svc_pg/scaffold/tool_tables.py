"""The tables that tools keep for themselves, which are no business of an audit log."""

from typing import Final

_ALEMBIC: Final = "Alembic's own: the revision of the schema"
_DJANGO: Final = "Django's own: the migrations that have run"
_SESSIONS: Final = "sessions: their keys are secrets, and requests change them all the time"
_RAILS: Final = "the versions of the schema, of a tool for migrations"
_CELERY: Final = "results of tasks, which workers change all the time"

TOOL_TABLES: Final = {
    "alembic_version": _ALEMBIC,
    "alembic_versions": _ALEMBIC,
    "django_migrations": _DJANGO,
    "django_session": f"Django's {_SESSIONS}",
    "django_content_type": "Django's own: the names of models, which migrate writes",
    **dict.fromkeys(
        (
            "schema_migrations", "ar_internal_metadata", "flyway_schema_history", "databasechangelog",
            "databasechangeloglock", "goose_db_version", "knex_migrations", "knex_migrations_lock",
            "_prisma_migrations", "__EFMigrationsHistory", "SequelizeMeta", "aerich", "yoyo_lock", "_yoyo_log",
            "_yoyo_migration", "_yoyo_version", "_sqlx_migrations", "piccolo_migration", "diesel_schema_migrations",
        ),
        _RAILS,
    ),
    **dict.fromkeys(("celery_taskmeta", "celery_tasksetmeta", "django_celery_results_taskresult"), _CELERY),
    "django_cache": "a cache, which is no business data",
}  # fmt: skip
"""Each with the reason why it is left out."""
