"""Begin to look at what an application writes, as soon as it has loaded a library that tells."""

import sys


def watch() -> None:
    """Look at what SQLAlchemy's engines write from now on, if the application has loaded SQLAlchemy. Idempotent.

    Called for each request, because applications may load SQLAlchemy at any time.
    """
    if "sqlalchemy.engine" in sys.modules:
        from svc_pg.integrations.sqlalchemy import watch_engines

        watch_engines()
