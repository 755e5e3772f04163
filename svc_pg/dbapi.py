"""DB-API connections of any driver whose parameters are ``%s``: psycopg, psycopg2, and what stands before them."""

from typing import Any, Protocol


class DbApiConnection(Protocol):
    """A DB-API connection whose driver writes parameters as ``%s``: psycopg's, SQLAlchemy's raw one, Django's."""

    def cursor(self) -> Any:
        """Open a cursor."""
