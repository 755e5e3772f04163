"""The numbers of errors of MySQL and MariaDB, by their meaning, for ``svc_pg.database.dbapi.error_number``."""

from typing import Final

LOCKED: Final = frozenset({1205, 1213})
"""The wait for a lock was too long, or a deadlock."""
BUSY: Final = LOCKED | {3572}
"""The same, or NOWAIT found a lock."""
NO_RIGHT_TO_TABLE: Final = frozenset({1044, 1142, 1143})
"""The user lacks the right to a database, a table or a column."""
DENIED: Final = NO_RIGHT_TO_TABLE | {1045, 1227, 1370}
"""The same, or the user lacks the right to log in, a global right, or that to a routine."""
LOST: Final = frozenset({0, 2006, 2013, 2055})
"""The connection is lost."""
TOO_LONG: Final = frozenset({1969, 3024})
"""A statement took longer than it may: on MariaDB, and on MySQL."""
IN_TRANSACTION: Final = 1568
"""The characteristics of a running transaction cannot be changed."""
