"""Names of tables as people write them: ``public.customer``, ``customer``, ``public."odd.name"``."""

import re
from typing import Final, NamedTuple

from svc_pg.errors import ConfigError

_PART = r'"(?:[^"\0\ud800-\udfff]|"")+"|[^."\0\ud800-\udfff]+'  # PostgreSQL stores no NUL and no lone surrogate
_QUALIFIED = re.compile(rf"(?:(?P<schema>{_PART})\.)?(?P<table>{_PART})")


DEFAULT_SCHEMA: Final = "public"
"""The schema of a name without one. It stands for the default schema of every database."""


class TableName(NamedTuple):
    """A schema and a table, exactly as the catalog spells them.

    Its text is the ``table_name`` of an audit entry: ``schema.table``; a part that contains a dot or a double quote is
    quoted. Unlike in SQL, letters keep their case without quotes.
    """

    schema: str
    table: str

    def __str__(self) -> str:
        return ".".join(_spelled(part) for part in self)

    @classmethod
    def parse(cls, text: str) -> "TableName":
        """Read ``schema.table`` or ``table`` (in ``public``). Raises ConfigError if it is neither."""
        match = _QUALIFIED.fullmatch(text)
        if match is None:
            raise ConfigError(f"{text!r} is not a table name", hint='Write schema.table, or schema."odd.table".')
        schema, table = match["schema"], match["table"]
        return cls(DEFAULT_SCHEMA if schema is None else unquoted(schema), unquoted(table))

    def within(self, default_schema: str) -> "TableName":
        """The name in a database with this default schema."""
        return self._replace(schema=default_schema) if self.schema == DEFAULT_SCHEMA else self


def _spelled(part: str) -> str:
    return quoted(part) if set('."') & set(part) else part


def quoted(name: str) -> str:
    """The name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def unquoted(text: str) -> str:
    """Undo ``quoted``; a text without quotes stays as it is."""
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
