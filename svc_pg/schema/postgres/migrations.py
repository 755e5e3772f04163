"""The numbered migrations below ``sql/migrations``: applied once, in order, and never edited after a release."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from psycopg import Connection

from svc_pg.errors import DatabaseNewerError, InstallError, MigrationChangedError
from svc_pg.schema.postgres.installation import Installation


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: ``0002_audit.sql`` is number 2, named audit."""

    number: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        """The fingerprint that the database keeps."""
        return sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


@cache
def released() -> tuple[Migration, ...]:
    """All migrations of this program, in order."""
    found = []
    for file in files("svc_pg.sql").joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def pending(installation: Installation) -> list[Migration]:
    """The migrations that this database has not run.

    Raises DatabaseNewerError if it ran one that this program does not know, MigrationChangedError if it ran another
    text, and InstallError if a schema ``svc`` exists that is not ours.
    """
    if not installation.has("migrations"):
        if installation.around.schema_owner is not None:
            raise InstallError(
                "a schema svc exists in this database, and svc-pg did not make it",
                hint="Rename or drop it; the name is fixed.",
            )
        return list(released())
    _refuse_foreign(installation.migrations)
    return [migration for migration in released() if migration.number not in installation.migrations]


def _refuse_foreign(applied: dict[int, tuple[str, str]]) -> None:
    known = {migration.number: migration for migration in released()}
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


def apply(conn: Connection[Any], migration: Migration) -> None:
    """Run one migration and record it, in the caller's transaction."""
    conn.execute(migration.sql.encode())
    conn.execute(
        "insert into svc.migrations (number, name, sha256) values (%s, %s, %s)",
        (migration.number, migration.name, migration.sha256),
    )
