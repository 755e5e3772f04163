"""Refuse constants in conditions that would run code of others while PostgreSQL parses them.

The text of an array, range or row becomes a value when it is parsed, and the domains inside check it: by functions of
their owners, with the rights of the installer.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError
from svc_pg.rendering.templates import render

# A text that may begin as that of an array, range or row; a backslash or UESCAPE may hide how it begins
_CONTAINER: Final = re.compile(r"""['$]\s*[{\[(]|\\|uescape""", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Domain:
    name: str
    owner: str


def check_constants(conn: Connection[Any], table: TableName, condition: str) -> None:
    """Raise ConfigError if a constant of the condition may be checked by a domain of another owner."""
    if not _CONTAINER.search(condition):
        return
    for domain in fetch(conn, Query(render("installed/foreign_domains.sql.j2"), tuple(table), _Domain)):
        raise ConfigError(
            f'table "{table}": a condition has the text of an array, range or row, which domain {domain.name} of role'
            f' "{domain.owner}" might check with your rights',
            hint="Write array['a', 'b']::type[] or row('a', 'b')::type: PostgreSQL checks these when it runs them.",
        )
