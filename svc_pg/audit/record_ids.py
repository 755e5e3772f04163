"""The ``record_id`` of a key."""

import json


def record_id(record: object) -> str:
    """The ``record_id`` of entries of the record with this key, as PostgreSQL writes it."""
    if isinstance(record, list | tuple):
        return json.dumps([part if isinstance(part, int) else str(part) for part in record], ensure_ascii=False)
    return str(record)
