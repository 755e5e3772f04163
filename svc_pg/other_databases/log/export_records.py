"""An entry as a record of an export: byte by byte as PostgreSQL writes it, except for the stored JSON itself."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import Any, Final

from svc_pg.audit.log.entry import FIELDS as NAMES
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.log.export_fields import ARRAYS, FIELDS, FREE_TEXTS, Format
from svc_pg.audit.log.snapshot import Snapshot
from svc_pg.database.query import RawJson
from svc_pg.formats.json_writer import encode

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_QUOTED: Final = re.compile(r'[",\r\n]')
_BETWEEN_VALUES: Final = str.maketrans("\r\n", "  ")
"""Line breaks, which JSON of an application may have between its tokens, but never inside texts."""


def json_record(entry: Entry) -> bytes:
    """The entry as one line of JSON, without its end."""
    return encode(_members(entry))


def csv_record(entry: Entry) -> bytes:
    """The entry as a record of CSV, without its end, and without formulas that a spreadsheet would run."""
    return ",".join(_cell(_harmless(name, text)) for name, text in _texts(entry)).encode()


def raw_record(entry: Entry) -> bytes:
    """The entry as a record of CSV, without its end, with its values as they are."""
    return ",".join(_cell(text) for _, text in _texts(entry)).encode()


RECORDS: Final[Mapping[Format, Callable[[Entry], bytes]]] = {
    "json": json_record,
    "ndjson": json_record,
    "csv": csv_record,
    "parquet": raw_record,
}


def _members(entry: Entry) -> dict[str, Any]:
    values = [getattr(entry, name) for name in NAMES]
    members = dict(zip(FIELDS, map(_one_line, values), strict=True))
    return members | {"timestamp": f"{entry.timestamp.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"}


def _one_line(value: Any) -> Any:
    return RawJson(value.text.translate(_BETWEEN_VALUES)) if isinstance(value, Snapshot) else value


def _texts(entry: Entry) -> Iterator[tuple[str, str | None]]:
    for name, value in _members(entry).items():
        yield name, None if value is None else encode(value).decode() if name in ARRAYS else str(value)


def _harmless(name: str, text: str | None) -> str | None:
    return f"'{text}" if text and name in FREE_TEXTS and text.startswith(_FORMULA) else text


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED.search(text) else text
