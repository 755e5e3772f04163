"""The tables of SQLite whose rules omit changes, or once did, so that consecutive entries may not match."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from svc_pg.database.effects import Effects, Statement

_OMISSIONS: Final = """
select case when json_valid(ignored) then ignored else '[]' end, is_conditional or not json_valid(ignored)
  from svc_audit_omissions where table_name = %s and since <= %s
"""


@dataclass(frozen=True, slots=True)
class Omissions:
    """The columns whose change alone had no entry at some time; ``is_conditional`` if any change may lack one."""

    ignored: Sequence[str]
    is_conditional: bool


def omissions_of(table: str, at: str) -> Effects[Omissions | None]:
    """The omissions of a table up to a time; None if there are none."""
    rows = yield Statement(_OMISSIONS, (table, at))
    return next((Omissions(list(json.loads(ignored)), bool(is_conditional)) for ignored, is_conditional in rows), None)


def noticed(image: str | None, ignored: Sequence[str]) -> str | None:
    """An image without the ignored columns, as a text that differs if another column does."""
    if image is None or not ignored:
        return image
    try:
        members = json.loads(image, object_pairs_hook=tuple, parse_int=Decimal, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError):
        return image
    return repr([member for member in members if member[0] not in ignored]) if isinstance(members, tuple) else image
