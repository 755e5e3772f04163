"""Compare two images of a row by their fields; see ``sql/audit/audit_differing.sql`` and what it calls."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from svc_pg.other_databases.log.insert_entry import is_same

_HASH: Final = re.compile("[0-9a-f]{64}")
_ALL: Final = "*"
"""Among redacted fields: all of them."""


@dataclass(frozen=True, slots=True)
class Image:
    """The values of a row as the log has them, and the fields that are redacted."""

    members: Mapping[str, Any]
    redacted: frozenset[str]

    @classmethod
    def read(cls, text: str, redacted: str | None) -> "Image | None":
        """Read the texts of an entry; None if they are no JSON, as a forger writes it."""
        try:
            members = json.loads(
                getattr(text, "original", text), parse_int=Decimal, parse_float=Decimal, parse_constant=_refuse
            )
            names = json.loads(redacted or "[]")
        except (ValueError, ArithmeticError, RecursionError):
            return None
        if not isinstance(members, dict) or not isinstance(names, list):
            return None
        return cls(members, frozenset(name for name in names if isinstance(name, str)))


def differing(known: Image, row: Image, ignored: Collection[str]) -> list[str]:
    """The fields of a row whose values the log knows otherwise.

    Those that are redacted in another way than the log has them, that the table has no longer or whose value is null
    and was not recorded, do not count. Of a large value one side may have the size or the digest alone.
    """
    if _ALL in known.redacted | row.redacted:
        return []
    otherwise = {*changed_redactions(known, row), *ignored}
    found = [name for name in row.members if name not in otherwise and _differs(known.members, row.members, name)]
    return sorted(found, key=lambda name: name.encode(errors="surrogatepass"))


def changed_redactions(known: Image, row: Image) -> list[str]:
    """The fields of a row that the log cannot be compared with, because they were redacted in another way."""
    return [name for name in row.members if _is_redacted_otherwise(known, row, name)]


def _differs(known: Mapping[str, Any], row: Mapping[str, Any], name: str) -> bool:
    present = row[name]
    if name not in known:
        return present is not None
    was = known[name]
    if _is_cut(was) != _is_cut(present):
        return not (_fits(was, present) if _is_cut(was) else _fits(present, was))
    return not is_same(was, present)


def _is_cut(value: object) -> bool:
    return isinstance(value, dict) and value.get("oversized") is True and "bytes" in value


def _fits(cut: Mapping[str, Any], value: object) -> bool:
    """True if a value may be the one of which the size and perhaps the digest are left.

    Only of a text it is known how the database wrote it.
    """
    if not isinstance(value, str):
        return True
    written = json.dumps(value, ensure_ascii=False).encode(errors="surrogateescape")
    digest = cut.get("sha256")
    return cut["bytes"] == len(written) if digest is None else bool(digest == sha256(written).hexdigest())


def _is_redacted_otherwise(known: Image, row: Image, name: str) -> bool:
    was, now = name in known.redacted, name in row.redacted
    if was != now:
        return True
    ways = {_way(known.members, name), _way(row.members, name)}
    # a null has neither a hash nor last characters
    return was and len(ways) > 1 and not (ways <= {"null", "hash", "last4"} and "null" in ways)


def _way(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name, ...)
    if value is ...:
        return "remove"
    if value is None:
        return "null"
    if not isinstance(value, str):
        return "other"
    if value == "[masked]":
        return "mask"
    return "hash" if _HASH.fullmatch(value) else "last4" if value.startswith("****") else "other"


def _refuse(constant: str) -> None:
    raise ValueError(constant)
