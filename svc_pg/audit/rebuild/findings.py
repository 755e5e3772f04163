"""The findings of a rebuild about its export: how much it has, and why rows may be missing or incomplete."""

from dataclasses import dataclass, field
from typing import Final

from svc_pg.formats.plurals import counted

MOST_NAMES: Final = 20
"""The columns and records that a sentence names."""


@dataclass(slots=True)
class Names:
    """Some names, of which the first are kept, and their number."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str | None) -> None:
        """One more."""
        self.count += 1
        if name is not None and len(self.first) < MOST_NAMES:
            self.first.append(name)

    @property
    def text(self) -> str:
        """The names, for a sentence."""
        more = ", ..." if self.count > len(self.first) and self.first else ""
        return ", ".join(repr(name[:100]) for name in self.first) + more


@dataclass(slots=True)
class Findings:
    """Counts of what the entries do not tell, and the columns that rows lack."""

    entries: int = 0
    rows: int = 0
    repeated: int = 0
    of_ddl: int = 0
    from_before: Names = field(default_factory=Names)
    gaps: Names = field(default_factory=Names)
    hidden: Names = field(default_factory=Names)
    doubtful: Names = field(default_factory=Names)
    several: Names = field(default_factory=Names)
    erased: Names = field(default_factory=Names)
    unstorable: Names = field(default_factory=Names)
    redacted: dict[str, int] = field(default_factory=dict)
    unrecorded: dict[str, int] = field(default_factory=dict)
    shapes: int = 0
    has_purges: bool = False
    cut: int = 0
    """The transactions that have entries before the time of the rows, and others after it."""
    ends: str | None = None
    """The time of the file's last entry, if rows of a later time were asked for."""

    def sentences(self) -> list[str]:
        """Each reason for which rows are missing, incomplete or uncertain; none if the entries contradict nothing."""
        told = [
            _named(self.erased, "row", "was erased from the log and is left out", "were erased and are left out"),
            _named(
                self.unstorable,
                "row",
                "has a NUL, half a character or too large a number, which PostgreSQL cannot hold, and is left out",
                "have a NUL, half a character or too large a number, which PostgreSQL cannot hold, and are left out",
            ),
            _columns(self.redacted, "is redacted in the log"),
            _columns(self.unrecorded, "was too large for the log, or of a form that it cannot hold"),
            _named(
                self.gaps,
                "change",
                "is missing before the entry of a row: the table ignores columns or leaves changes out, capture was"
                " interrupted, or the export was filtered. Rows are as their last entries say",
                "are missing before entries of rows: the table ignores columns or leaves changes out, capture was"
                " interrupted, or the export was filtered. Rows are as their last entries say",
            ),
            _named(
                self.from_before,
                "row",
                "was there before its first entry: others from then may be missing, because nothing changed them",
                "were there before their first entries: others from then may be missing, because nothing changed them",
            ),
            _named(
                self.hidden,
                "row",
                "has a key of several columns that no entry names whole. If it moved there, its old row is there too",
                "have keys of several columns that no entry names whole. If they moved there, their old rows are too",
            ),
            _named(
                self.doubtful,
                "row",
                "ended a transaction as it began, and no earlier entry tells if it was there",
                "ended a transaction as they began, and no earlier entry tells if they were there",
            ),
            _named(
                self.several,
                "record",
                "has several rows: its entries contradict each other",
                "have several rows: their entries contradict each other",
            ),
        ]
        if self.ends is not None:
            told.append(f"The export ends at {self.ends}, before the time of the rows: no later change is in them.")
        if self.cut:
            told.append(
                f"The time is inside {counted(self.cut, 'transaction')}: nobody but it has seen these rows. Of a row"
                " that it changed several times, another state of its own may be here than svc-pg as-of shows."
            )
        if self.shapes > 1:
            told.append(
                f"Rows have {self.shapes} different sets of columns, as the table or its rules changed. Leave out"
                " columns that are gone: --without COLUMN."
            )
        if self.of_ddl:
            told.append(f"{counted(self.of_ddl, 'statement')} changed the table itself (operation DDL).")
        if self.has_purges:
            told.append("Entries were purged from this log, so older rows may be missing.")
        return [each for each in told if each]


def _named(names: Names, noun: str, one: str, more: str) -> str:
    if not names.count:
        return ""
    text = f" ({names.text})" if names.first else ""
    return f"{counted(names.count, noun)} {one if names.count == 1 else more}{text}."


def _columns(columns: dict[str, int], reason: str) -> str:
    if not columns:
        return ""
    shown = [f"{name[:100]!r} in {counted(rows, 'row')}" for name, rows in list(columns.items())[:MOST_NAMES]]
    more = f" and {len(columns) - MOST_NAMES} more" if len(columns) > MOST_NAMES else ""
    return f"A column {reason}, and is left out: {', '.join(shown)}{more}."
