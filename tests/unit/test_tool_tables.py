"""The tables of tools and libraries are known by their names, or by their columns."""

import pytest

from svc_pg.scaffold.tool_tables import reason_of


@pytest.mark.parametrize(
    "table",
    ["django_migrations", "django_session", "django_content_type", "django_admin_log", "auth_permission",
     "django_celery_results_taskresult", "celery_taskmeta", "procrastinate_jobs", "silk_request",
     "wagtailcore_pagelogentry", "wagtailimages_rendition", "wagtailsearch_indexentry", "alembic_version",
     "ab_permission", "schema_version", "cache_keys", "media_cache"],
)  # fmt: skip
def test_a_table_of_a_tool_is_known_by_its_name(table: str) -> None:
    assert reason_of(table, ["id", "name"])


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("bill_version", ["id", "amount", "transaction_id", "end_transaction_id", "operation_type"]),
        ("transaction", ["issued_at", "id", "remote_addr"]),
        ("transaction", ["issued_at", "id", "user_id"]),
        ("shop_historicalorder", ["id", "total", "history_id", "history_date", "history_type"]),
        ("shop_orderevent", ["pgh_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "total"]),
        ("versions", ["id", "item_type", "item_id", "event", "object", "whodunnit"]),
        ("order_aud", ["id", "rev", "revtype", "total"]),
    ],
)
def test_a_history_that_a_library_keeps_is_known_by_its_columns(table: str, columns: list[str]) -> None:
    reason = reason_of(table, columns)
    assert reason is not None
    assert "the log has that already" in reason
    assert reason_of(table, ["id", "name"]) is None


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("sessions", ["session_type", "session_id", "value", "expiry_time_ms"]),
        ("session", ["sid", "sess", "expire"]),
        ("web_sessions", ["id", "session_key", "expires_at"]),
    ],
)
def test_sessions_of_visitors_are_known_by_their_key_and_their_end(table: str, columns: list[str]) -> None:
    assert (reason_of(table, columns) or "").startswith("sessions: ")


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("training_sessions", ["id", "title", "expires"]),
        ("session", ["session_id", "speaker", "room"]),
        ("ab_permission_view_role", ["id", "role_id"]),
        ("caches", ["id", "name"]),
        ("auth_user", ["id", "password"]),
        ("auth_user_user_permissions", ["id", "user_id", "permission_id"]),
        ("auth_group_permissions", ["id", "group_id", "permission_id"]),
        ("django_celery_beat_periodictask", ["id", "name", "task"]),
        ("transaction", ["id", "amount", "issued_at"]),
        ("transaction", ["id", "user_id"]),
        ("document_version", ["id", "transaction_id"]),
        ("wagtailcore_page", ["id", "title"]),
        ("wagtailcore_revision", ["id", "content"]),
    ],
)
def test_a_table_of_the_application_is_recorded(table: str, columns: list[str]) -> None:
    assert reason_of(table, columns) is None
