"""An entry as the text of an export: byte by byte as PostgreSQL writes it, but for the stored JSON itself."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, Final

from svc_pg.audit.entry import FIELDS as NAMES
from svc_pg.audit.entry import Entry
from svc_pg.audit.export_fields import ARRAYS, FIELDS, FREE_TEXTS, Format
from svc_pg.encoding import encode
from svc_pg.query import RawJson

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_QUOTED: Final = re.compile(r'[",\r\n]')
_BETWEEN_VALUES: Final = str.maketrans("\r\n", "  ")
"""Outside its texts, JSON that an application wrote may have line breaks, and inside them never."""


def json_line(entry: Entry) -> str:
    """The entry as one line of JSON."""
    return encode(_members(entry)).decode()


def csv_line(entry: Entry) -> str:
    """The entry as one record of CSV, without the end of its line."""
    return ",".join(_cell(name, value) for name, value in _members(entry).items())


LINES: Final[Mapping[Format, Callable[[Entry], str]]] = {"json": json_line, "ndjson": json_line, "csv": csv_line}


def _members(entry: Entry) -> dict[str, Any]:
    values = [getattr(entry, name) for name in NAMES]
    members = dict(zip(FIELDS, map(_one_line, values), strict=True))
    return members | {"timestamp": f"{entry.timestamp.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"}


def _one_line(value: Any) -> Any:
    return RawJson(value.translate(_BETWEEN_VALUES)) if isinstance(value, RawJson) else value


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    text = encode(value).decode() if name in ARRAYS else str(value)
    if name in FREE_TEXTS and text.startswith(_FORMULA):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if not text or _QUOTED.search(text) else text
