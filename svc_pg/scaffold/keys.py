"""The key by which a proposal tells the records of a table apart."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from svc_pg.scaffold.candidates import Candidate
from svc_pg.scaffold.column_names import by_name
from svc_pg.scaffold.sensitive import Sensitive

_KEYLESS: Final = "no primary key: to record it, name the columns that tell its records apart: key = {}"
_NEARLY: Final = ", whose unique index lets NULL in"


def key_of(candidate: Candidate) -> Sequence[str]:
    """The primary key of a table, or else its shortest unique one; empty if a column of each is named like a secret."""
    return next((key for key in candidate.keys if not any(_secrets(candidate, key))), ())


def unfit(candidate: Candidate) -> str | None:
    """The reason why the key of a table stands against recording it."""
    if not candidate.keys:
        example = ", ".join(map(json.dumps, candidate.nearly_key or ["..."]))
        return _KEYLESS.format(f"[{example}]") + (_NEARLY if candidate.nearly_key else "")
    if key_of(candidate):
        return None
    column, kind = next(_secrets(candidate, candidate.keys[0]))
    which = "primary key" if candidate.table.key else "unique key"
    return f"its {which} {column} is named like {kind.singular}, and each entry would have it"


def _secrets(candidate: Candidate, key: Sequence[str]) -> Iterator[tuple[str, Sensitive]]:
    for column in key:
        kind = by_name(column, table=candidate.name.table) if candidate.named.get(column) == "text" else None
        if kind is not None and kind.is_secret:
            yield column, kind
