"""The ``record_id`` of a key."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from math import isfinite

from svc_pg.errors import QueryError


def record_id(record: object) -> str:
    """The ``record_id`` of entries of the record with this key, as PostgreSQL writes it.

    A time without a zone is written in several ways: pass the text that the log has. Raises QueryError for None, the
    key of an object that is not saved yet.
    """
    if record is None:
        raise QueryError("None is not the key of a record", hint="Save the record first.")
    if isinstance(record, list | tuple):
        return f"[{', '.join(map(_member, record))}]"
    return _text(record)


def _member(part: object) -> str:
    if isinstance(part, Enum):
        part = part.value
    if part is None or isinstance(part, int):
        return json.dumps(part)
    text = _text(part)
    return text if isinstance(part, float | Decimal) and isfinite(part) else json.dumps(text, ensure_ascii=False)


def _text(value: object) -> str:
    match value:
        case Enum():
            return _text(value.value)
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case float() if isfinite(value):
            return f"{Decimal(repr(value)).normalize():f}"  # 1.0 is 1
        case datetime() if value.tzinfo is not None:
            time = value.astimezone(UTC).replace(tzinfo=None).isoformat()
            return (time.rstrip("0") if value.microsecond else time) + "+00:00"
    return str(value)
