"""The commands ``seal``, ``verify``, ``prove`` and ``check``."""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from psycopg import Connection

from svc_pg import Config, audit
from svc_pg.errors import ProofError, SvcError
from svc_pg.formats.plurals import counted
from svc_pg.maintenance.bounded_calls import patiently
from svc_pg.maintenance.seal_copies import SealCopies
from svc_pg.maintenance.seal_timestamps import SealTimestamps
from svc_pg.seals.database.timestamp_coverage import STAMPED_WITHIN
from svc_pg.seals.keys import PublicKeys, SealKey
from svc_pg.seals.timestamp_files import read_timestamps
from svc_pg.seals.timestamps import TimestampAuthority
from svc_pg.seals.verification.copies import read_copies
from svc_pg.seals.verification.seal import Seal
from svc_pg.seals.writing.copy_line import line_of
from svc_pg.seals.writing.copying import naming
from svc_pg.settings import Settings
from svc_pg.status.seal_destinations import OF_A_COMMAND

from . import output, products, records
from .database import connect
from .files.input_file import opened_input
from .files.output_file import STANDARD_OUTPUT
from .json_text import printable
from .operator import reading
from .options import DatabaseUrl, Json, duration
from .progress import progress
from .seal_timestamps import seal_timestamps
from .stamp_words import delay_json, stamp_words

app = typer.Typer()
# A command tells of copies and timestamps at its end
logging.getLogger("svc_pg.maintenance").addHandler(logging.NullHandler())


@app.command()
def seal(
    *,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Add copies of the seals that a file, or a folder that exists, does not have; - prints the new ones.",
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Seal the entries of the audit log that no seal has yet. SVC_SEAL_KEY signs."""
    with connect(database_url) as conn, progress() as show:  # where there can be no seals, no key is asked for
        settings = Settings.load()
        key = SealKey.of(settings)
        copies = None if to is None or to == STANDARD_OUTPUT else SealCopies(to, begins_anew=True)
        if copies is not None:
            products.require_audit(conn)
            copies.look(conn)
        known = None if copies is None else copies.known
        made = audit.seal(conn, key=key, known=known, progress=lambda new: show(f"seal {new.number}"))
        problem = _write(copies, conn)
        try:
            timestamps = _timestamps(settings)
        except SvcError as error:  # of the configuration: the log is sealed all the same
            timestamps, problem = None, problem or error
        if timestamps is not None:
            show("a timestamp")
            timestamps.take(conn)
            problem = problem or timestamps.problem
            if timestamps.taken is not None:
                problem = problem or _write(copies, conn)
    if to == STANDARD_OUTPUT:
        for new in made:
            output.data(line_of(new).decode().rstrip())
    copied = 0 if copies is None else copies.copied
    stamped = None if timestamps is None else timestamps.taken
    if json and to != STANDARD_OUTPUT:
        records.show_json(
            {"seals": len(made), "entries": sum(new.entries for new in made), "copied": copied, "stamped": stamped}
        )
    else:
        _tell(made, copied, to)
        if timestamps is not None and stamped is not None:
            output.words(f"Seal {stamped} got a timestamp of {timestamps.name}.")
    if problem is not None:
        raise problem


def _write(copies: SealCopies | None, conn: Connection[Any]) -> SvcError | None:
    """Add what the copies lack; return the reason for which that failed."""
    if copies is None:
        return None
    with suppress(ProofError):  # it is the problem, and keeps no seal from its timestamp
        copies.write(conn)
    return copies.problem


def _timestamps(settings: Settings) -> SealTimestamps | None:
    if settings.seal_timestamp_url is None:
        return None
    return seal_timestamps(settings, proxy=Config.find().webhooks.proxy, shown_for=OF_A_COMMAND)


def _tell(made: Sequence[Seal], copied: int, to: Path | None) -> None:
    if made:
        entries = sum(new.entries for new in made)
        output.words(f"Sealed {counted(entries, 'entry')}; the last seal is {made[-1].number}.")
    else:
        output.words("No entries without a seal.")
    if copied:
        output.words(f"Copied {counted(copied, 'seal')} to {to}.")


@app.command()
def verify(
    *,
    seals: Annotated[
        Path | None,
        typer.Option(
            "--seals", metavar="PATH", help="Compare with the copies of a file or a folder too, which seal --to wrote."
        ),
    ] = None,
    stamped_within: Annotated[
        timedelta | None,
        duration(meaning="Name seals whose timestamp came later after the time that they say. Default: 26h."),
    ] = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Compare the audit log with its seals. SVC_SEAL_PUBLIC_KEYS verifies; exit code 3 if something differs."""
    with connect(database_url) as conn, progress() as show, naming(seals):
        products.require_audit(conn)
        within = stamped_within or STAMPED_WITHIN
        settings = Settings.load()
        public_keys = PublicKeys.of(settings)
        copies: Iterable[Seal] = () if seals is None else patiently(str(seals), read_copies(seals))
        found = audit.verify(
            conn,
            public_keys=public_keys,
            copies=copies,
            authority=TimestampAuthority.of(settings),
            timestamps=() if seals is None else patiently(str(seals), read_timestamps(seals)),
            stamped_within=within,
            progress=lambda entries: show(counted(entries, "entry")),
        )
    if json:
        records.show_json(
            {
                "isIntact": found.is_intact,
                "isComplete": found.is_complete,
                "seals": found.seals,
                "entries": found.entries,
                "unsealed": found.unsealed,
                "oldSeals": found.old_seals,
                "purged": found.purged,
                "erased": found.erased,
                "isRecorded": found.is_recorded,
                "timestamps": found.timestamps,
                "unverifiedTimestamps": found.unverified_timestamps,
                "firstStampedSeal": found.first_stamped and found.first_stamped.number,
                "firstDelay": delay_json(found.first_delay),
                "laterDelay": delay_json(found.later_delay),
                "stampedSeal": found.stamped_seal and found.stamped_seal.number,
                "stampedAt": found.stamped_at,
                "lastSealedAt": found.last_seal and found.last_seal.sealed_at,
                "findings": found.findings,
            }
        )
    else:
        for finding in found.findings:
            output.data(printable(finding.message))
        if found.findings and not found.entries and found.last_seal is not None:
            log = printable(found.last_seal.epoch)
            output.words(f"No entry is as it was sealed: are the seals, which are of log {log}, of this database?")
        compared = f"{counted(found.entries, 'entry')} as sealed by {counted(found.seals, 'seal')}"
        output.words(f"{compared}; {found.unsealed:,} without a seal.")
        if found.old_seals:
            output.words(
                f"{counted(found.old_seals, 'seal')} of version 1 are links of the chain alone: only newer ones"
                " prove entries."
            )
        if found.purged or found.erased:
            output.words(f"{found.purged:,} were purged, and the contents of {found.erased:,} erased.")
        for words in stamp_words(found, within):
            output.words(words)
        if not found.is_complete:
            output.words("There are too many differences; the rest was not compared.")
        if not found.is_recorded:
            output.words("This is not recorded for status and metrics: the role or the database may only read.")
    if found.findings:
        raise typer.Exit(3)


@app.command()
def prove(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id.")], *, database_url: DatabaseUrl = None
) -> None:
    """Print a proof, as JSON, that an entry was in the audit log when its seal was made."""
    with connect(database_url) as conn, reading("prove"):
        proof = audit.prove(conn, entry)
    output.data(proof.text)


@app.command()
def check(
    proof: Annotated[Path, typer.Argument(metavar="PROOF", help="The file that prove wrote; - is standard input.")],
    *,
    seals: Annotated[
        Path | None,
        typer.Option("--seals", metavar="PATH", help="Refuse a proof of another database than these copies are of."),
    ] = None,
    json: Json = False,
) -> None:
    """Check a proof, without a database. SVC_SEAL_PUBLIC_KEYS verifies."""
    public_keys = PublicKeys.of(Settings.load())
    with opened_input(proof) as file:
        text = file.read()
    with naming(seals):
        copies = None if seals is None else patiently(str(seals), read_copies(seals))
        proven = audit.check_proof(text, public_keys=public_keys, copies=copies)
    known = {
        "entry": proven.id,
        "timestamp": proven.timestamp,
        "seal": proven.seal.number,
        "sealed_at": proven.seal.sealed_at,
        "key": proven.seal.key_id,
        "log": proven.seal.epoch,
    }
    if json:
        records.show_json(
            {
                "entry": proven.id,
                "timestamp": proven.timestamp,
                "fields": proven.fields,
                "isErased": proven.is_erased,
                "seal": proven.seal.number,
                "sealedAt": proven.seal.sealed_at,
                "keyId": proven.seal.key_id,
                "log": proven.seal.epoch,
            }
        )
    else:
        records.show(known | dict(proven.fields) | ({"contents": "erased"} if proven.is_erased else {}))
