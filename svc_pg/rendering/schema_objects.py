"""Functions, views and triggers as values, which svc_pg.schema installs."""

import re
from dataclasses import dataclass, field, fields
from functools import lru_cache
from hashlib import sha256
from typing import Final, Literal, NamedTuple, get_args

from svc_pg.database.storable_texts import MAX_IDENTIFIER_BYTES
from svc_pg.database.table_names import TableName, quoted, unquoted

_SENDING: Final = ("svc.change_events_", "svc.send_changes_", "00_svc_change_events_")
"""The prefixes of the identities of functions and triggers that send changes, and of no others."""

OVERLOADED: Final = ("send",)
"""The names of overloaded functions, each overload in a file of its own: send.sql.j2, send.json.sql."""

_IDENTITY: Final = re.compile(r'(?P<name>"(?:[^"]|"")*"|(?!").*?) on (?P<table>.*)', re.DOTALL)

_REVOKED: Final = re.compile(r"^revoke all on function (?P<signature>\S+\([^()]*\)) from public;$", re.MULTILINE)

ObjectKind = Literal["function", "view", "trigger"]

OBJECT_KINDS: Final[tuple[ObjectKind, ...]] = get_args(ObjectKind)


class Trigger(NamedTuple):
    """A trigger and the table that it is on.

    Its text is the identity of a trigger: ``name on schema.table``; a name that contains " on " is quoted.
    """

    name: str
    table: TableName

    def __str__(self) -> str:
        is_plain = " on " not in f"{self.name} on" and not self.name.startswith('"')
        return f"{self.name if is_plain else quoted(self.name)} on {self.table}"

    @classmethod
    def parse(cls, identity: str) -> "Trigger":
        """Read an identity."""
        match = _IDENTITY.fullmatch(identity)
        assert match is not None, identity  # noqa: S101 - it is our own text
        return cls(unquoted(match["name"]), TableName.parse(match["table"]))


@dataclass(frozen=True, slots=True)
class SchemaObject:
    """One function, view or trigger and the SQL that creates or replaces it.

    ``identity`` is ``svc.name`` for a function or view and ``name on schema.table`` for a trigger; for an overloaded
    function it is the signature, as the catalog prints it: ``svc.send(text, json)``. ``audited_table`` is set if it
    records or sends the changes of a table; ``leaves_out`` names the changes that it does not record, and
    ``title`` the column that names the table's records for people.
    """

    kind: ObjectKind
    identity: str
    sql: str
    audited_table: str | None = None
    leaves_out: str | None = None
    title: str | None = None
    recorded_sha256: str | None = None
    """The fingerprint on record, if the SQL is the catalog's form of it."""
    source_sha256: str = field(init=False)
    """The fingerprint of the SQL."""

    def __post_init__(self) -> None:
        """Compute the fingerprint once: objects are made once and compared often."""
        digest = self.recorded_sha256 or sha256(self.sql.encode()).hexdigest()
        object.__setattr__(self, "source_sha256", digest)


def name_of(identity: str) -> str:
    """The name of a function or view in schema ``svc``."""
    name = identity.removeprefix("svc.")
    plain = name.partition("(")[0]
    return plain if plain in OVERLOADED else name


def signature(sql: str) -> str:
    """The identity of an overloaded function that this SQL creates: install revokes rights on it."""
    match = _REVOKED.search(sql)
    assert match is not None, sql  # noqa: S101 - it is our own text
    return match["signature"]


def is_overload(identity: str) -> bool:
    """True if the function is overloaded."""
    return name_of(identity) in OVERLOADED


def sends_changes(identity: str) -> bool:
    """True if the function or trigger sends the changes of its table as events."""
    return identity.startswith(_SENDING)


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """The names in schema ``svc`` of the functions and views of one audited table."""

    capture: str
    record: str
    redact: str
    typed: str
    history: str
    as_of: str
    change_events: str
    send_changes: str


@lru_cache(maxsize=1024)
def names_of(table: TableName) -> ObjectNames:
    """The names of the objects of a table."""
    return ObjectNames(**{each.name: _name(each.name, table) for each in fields(ObjectNames)})


def _name(prefix: str, table: TableName) -> str:
    """``prefix_schema_table``; with a digest if that is too long, or if the end of the schema would be ambiguous."""
    plain = f"{prefix}_{table.schema}_{table.table}"
    if "_" not in table.schema and len(plain.encode()) <= MAX_IDENTIFIER_BYTES:
        return plain
    digest = sha256("\0".join(table).encode()).hexdigest()[:10]
    room = MAX_IDENTIFIER_BYTES - len(digest) - 1
    return f"{plain.encode()[:room].decode(errors='ignore')}_{digest}"
