"""Learn the columns of a table's key from entries: an export names a record, and no column."""

import json
from collections.abc import Iterator
from typing import Any, Final

from svc_pg.audit.read.bounded_ids import bounded
from svc_pg.audit.rebuild.json_members import members

_ENOUGH: Final = 1000
"""Entries in a row that fit one choice of columns: after them no other choice is looked for."""
_CUT: Final = " bytes, sha256 "
"""It stands in the name of a key that is too long to be a name itself."""
_MOST_PARTS: Final = 32
"""The columns of a key that PostgreSQL can have."""
_Columns = tuple[frozenset[str], ...]


class RecordKey:
    """The columns that may be the key: of each column of it, those that always had its value."""

    def __init__(self) -> None:
        self._columns: _Columns | None = None
        self._fitting = 0

    def learn(self, record: str, image: dict[str, Any]) -> None:
        """An entry about this record, whose row is this image with numbers as texts."""
        if self._fitting >= _ENOUGH:
            return
        found = _columns(record, image)
        if found is None:
            return
        known = self._columns
        if known is not None and len(known) == len(found):
            both = tuple(old & new for old, new in zip(known, found, strict=True))
            if all(both):
                self._fitting = self._fitting + 1 if all(len(each) == 1 for each in both) else 0
                self._columns = both
                return
        self._columns = found
        self._fitting = 0

    def is_hidden(self, record: str) -> bool:
        """True if the record's key is too long to be named whole, and no entry told which columns the key has."""
        return self._columns is None and _CUT in record

    def keys(self, image: str) -> Iterator[str]:
        """The keys that the row of this image may have, each as an entry names it; one, if its columns are known."""
        if self._columns is None:
            return
        found = members(image)
        if len(self._columns) == 1:
            [names] = self._columns
            yield from sorted({bounded(found[name].value) for name in names if isinstance(_value(found, name), str)})
            return
        chosen = [min(names) for names in self._columns]
        if all(name in found for name in chosen):
            yield bounded("[" + ", ".join(found[name].text for name in chosen) + "]")


def _value(found: dict[str, Any], name: str) -> object:
    return found[name].value if name in found else None


def _columns(record: str, image: dict[str, Any]) -> _Columns | None:
    is_cut = _CUT in record
    alone = frozenset(
        name
        for name, value in image.items()
        if value == record or (is_cut and isinstance(value, str) and bounded(value) == record)
    )
    if alone:
        return (alone,)
    if not record.startswith("["):
        return None
    try:
        parts = json.loads(record, parse_int=str, parse_float=str)
        if len(parts) > _MOST_PARTS:
            return None
        texts = [json.dumps(part) for part in parts]
    except (ValueError, RecursionError):
        return None
    names: dict[str, list[str]] = {}
    for name, value in image.items():
        names.setdefault(json.dumps(value), []).append(name)
    found = tuple(frozenset(names.get(text, ())) for text in texts)
    return found if found and all(found) else None
