"""A plugin of pytest that captures the tables of SQLAlchemy's suite, each time when some were made."""

from typing import Any

from foreign_suite import capture_new_tables, count_capture, is_captured


def pytest_sessionstart() -> None:
    """Listen to SQLAlchemy, which the suite's own plugin has imported by now."""
    from sqlalchemy import MetaData, event

    if is_captured():
        event.listen(MetaData, "after_create", _capture)


def _capture(_metadata: object, connection: Any, **_options: object) -> None:
    capture_new_tables(connection)


def pytest_sessionfinish() -> None:
    """Count the entries, before the suite's own plugin closes the database."""
    from sqlalchemy.testing import config

    if config.db is not None:
        with config.db.connect() as connection:
            count_capture(connection.connection.cursor(), connection.dialect.name, is_over=True)
