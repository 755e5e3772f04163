"""The numbered migrations of a database: applied once, in order, and never edited after a release."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files

from svc_pg.errors import DatabaseNewerError, MigrationChangedError
from svc_pg.schema.status import Status


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: ``0002_audit.sql`` is number 2, named audit."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The fingerprint for the database's record."""
        return sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


@cache
def released(folder: str) -> tuple[Migration, ...]:
    """All migrations of this program in a folder below ``sql/``, in order."""
    found = []
    for file in files("svc_pg.sql").joinpath(folder).iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def by_name(migrations: Iterable[Migration]) -> dict[str, Migration]:
    """These migrations by their names."""
    return {str(migration): migration for migration in migrations}


def states(folder: str, applied: Mapping[int, tuple[str, str]], *, unwanted: Collection[int] = ()) -> list[Status]:
    """All migrations of this program, missing or ok, without ``unwanted`` ones that have not run.

    Raises the errors of ``pending``.
    """
    missing = {migration.number for migration in pending(folder, applied)}
    return [
        Status("migration", str(migration), "missing" if migration.number in missing else "ok", migration.sql)
        for migration in released(folder)
        if migration.number in applied or migration.number not in unwanted
    ]


def pending(folder: str, applied: Mapping[int, tuple[str, str]]) -> list[Migration]:
    """The migrations that a database has not run; ``applied`` has the names and fingerprints of the others.

    Raises DatabaseNewerError if it ran a migration unknown to this program, MigrationChangedError if it ran another
    text.
    """
    known = {migration.number: migration for migration in released(folder)}
    newer = [f"{number:04d}_{name}" for number, (name, _) in sorted(applied.items()) if number not in known]
    if newer:
        raise DatabaseNewerError(
            f"the database has run migrations that this svc-pg does not know: {', '.join(newer)}",
            hint="Upgrade svc-pg to the version that installed them, or a later one.",
        )
    for number, (_, digest) in sorted(applied.items()):
        if known[number].sha256 != digest:
            raise MigrationChangedError(
                f"migration {known[number]} is not the one that this database has run",
                hint="A released migration is never edited: put it back, and write the change as a new one.",
            )
    return [migration for number, migration in known.items() if number not in applied]
