"""Begin to watch the writes of an application, as soon as it has loaded a library that reports them."""

import sys


def watch() -> None:
    """Watch the writes of SQLAlchemy's engines from now on, if the application has loaded SQLAlchemy. Idempotent.

    Called for each request, because applications may load SQLAlchemy at any time.
    """
    if "sqlalchemy.engine" in sys.modules:
        from svc_pg.integrations.sqlalchemy import watch_engines

        watch_engines()
