"""The roles that may use each function and view of schema ``svc``, as the headers of the files in ``sql/`` say.

A header stands before the function or view: ``-- access: reader, admin``. In a template that is rendered for each table
it names them all: ``-- access to typed_*: owner, admin``.

``reader``, ``sender`` and ``admin`` are the roles of ``[grants]``; ``writer`` writes entries, also those about our own
tables; ``owner`` is the owner of an audited table, in a template that of its table; ``hashing owner`` is such an owner
if a capture hashes; ``trigger`` is nobody: only triggers call it.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final, Literal, cast, get_args

Kind = Literal["function", "view"]
Party = Literal["owner", "hashing owner", "writer", "sender", "reader", "admin", "trigger"]
Privilege = Literal["EXECUTE", "SELECT", "INSERT", "UPDATE"]

FOLDERS: Final = ("audit", "capture", "console", "events", "log", "views", "webhooks")
PARTIES: Final[tuple[Party, ...]] = get_args(Party)

_MADE: Final = re.compile(r"^create or replace (?P<kind>function|view) svc\.", re.MULTILINE)
_HEADER: Final = re.compile(r"^-- access(?: to (?P<family>[a-z_]+)\*)?: (?P<parties>.+)\n(?=create )", re.MULTILINE)
_PRIVILEGES: Final[dict[tuple[str, str], Privilege]] = {
    ("function", ""): "EXECUTE",
    ("view", ""): "SELECT",
    ("view", "insert"): "INSERT",
    ("view", "lock"): "UPDATE",  # which a lock of a view needs
}


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file, for the functions or views whose names match the pattern: one, or one for each table."""

    file: str
    kind: Kind
    pattern: str
    is_family: bool
    rights: frozenset[tuple[Privilege, Party]]

    def fits(self, name: str) -> bool:
        """True if the file makes the function or view of this name."""
        return re.fullmatch(self.pattern, name) is not None


@dataclass(frozen=True, slots=True)
class Right:
    """A privilege of the same parties on all functions, or on all views, whose names match the pattern."""

    kind: Kind
    pattern: str
    privilege: Privilege
    parties: Sequence[Party]


@cache
def headers() -> Sequence[Header]:
    """The headers of all files that make a function or view."""
    found = []
    for folder in FOLDERS:
        for file in sorted(files("svc_pg.sql").joinpath(folder).iterdir(), key=lambda file: file.name):
            header = header_of(f"{folder}/{file.name}", file.read_text(encoding="utf-8"))
            if header is not None:
                found.append(header)
    return found


def header_of(file: str, text: str) -> Header | None:
    """The header of a file below ``sql/``; None if it makes neither. Raises ValueError if one is missing or wrong."""
    made = _MADE.search(text)
    if made is None:
        return None
    kind, found = cast("Kind", made["kind"]), _HEADER.search(text)
    if found is None:
        raise ValueError(f"sql/{file} has no line such as -- access: reader, admin before its {kind}")
    rights = set()
    for word in found["parties"].split(", "):
        party, _, verb = word.partition(" to ")
        if party not in PARTIES or (kind, verb) not in _PRIVILEGES:
            raise ValueError(f"sql/{file}: nobody is known as {word!r} who may use a {kind}")
        rights.add((_PRIVILEGES[kind, verb], party))
    family, name = found["family"], file.partition("/")[2].partition(".")[0]
    return Header(file, kind, name if family is None else f"{family}.*", family is not None, frozenset(rights))


def rights(*, of_families: bool) -> list[Right]:
    """The rights of all parties, or with ``of_families`` those of a table's owner to the objects made for it."""
    names = defaultdict(set)
    for header in headers():
        given = defaultdict(set)
        for privilege, party in header.rights:
            if party != "trigger" and (header.is_family and party == "owner") == of_families:
                given[privilege].add(party)
        for privilege, parties in given.items():
            names[header.kind, header.is_family, privilege, tuple(sorted(parties))].add(header.pattern)
    return [Right(kind, "|".join(sorted(each)), right, who) for (kind, _, right, who), each in sorted(names.items())]


def helpers(*parties: Party) -> list[str]:
    """The names of our own functions that one of these parties may use."""
    return sorted(
        {
            name
            for each in rights(of_families=False)
            if each.kind == "function" and not {*parties}.isdisjoint(each.parties)
            for name in each.pattern.split("|")
        }
    )


def pattern(kind: Kind) -> str:
    """A regular expression that matches the names of all functions, or of all views."""
    return "|".join(sorted({each.pattern for each in headers() if each.kind == kind}))
