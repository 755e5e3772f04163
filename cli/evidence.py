"""The command ``evidence``."""

from collections.abc import Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from svc_pg import audit
from svc_pg.audit.exports.evidence import EvidenceReport, verifier
from svc_pg.formats.plurals import counted
from svc_pg.seals.timestamp_files import TIMESTAMP_NAME, timestamp_name_of

from . import output, records
from .database import connect
from .files.output_file import explained, opened_output
from .operator import reading
from .options import Between, PostgresUrl, exact_time, period_of, point_in_time
from .progress import progress

app = typer.Typer()


@app.command()
def evidence(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write to; made if need be.")],
    *,
    since: Annotated[str | None, point_in_time(meaning="Only entries since this time.")] = None,
    until: Annotated[str | None, point_in_time(meaning="Only entries before this time.")] = None,
    between: Between = None,
    database_url: PostgresUrl = None,
) -> None:
    """Write entries, seals and a program that verifies them, for an auditor without a database."""
    period = period_of(between, since=since, until=until)
    start, end = period or (
        exact_time(text, option=option, why="the auditor gives the verifier the same")
        for option, text in (("--since", since), ("--until", until))
    )
    with reading("evidence"), connect(database_url) as conn, progress() as show:
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)

        written: set[str] = set()

        def write_timestamp(number: int, answer: bytes) -> None:
            file = folder / "timestamps" / timestamp_name_of(number)
            written.add(file.name)
            with explained(file.parent):
                file.parent.mkdir(exist_ok=True)
            with opened_output(file) as timestamp:
                timestamp.write(answer)

        show("seals and entries")
        with opened_output(folder / "export.ndjson") as export, opened_output(folder / "seals.ndjson") as seals:
            report = audit.evidence(conn, export=export, seals=seals, timestamp=write_timestamp, since=start, until=end)
        _remove_others(folder / "timestamps", written)
        with opened_output(folder / "verify_svc_pg.py") as program:
            program.write(verifier())
    _tell(folder, report, start, end)


def _remove_others(folder: Path, written: Set[str]) -> None:
    """Remove the timestamps of an earlier run, which may be of another log."""
    with explained(folder):
        for file in folder.glob("*.tsr"):
            if TIMESTAMP_NAME.fullmatch(file.name) and file.name not in written:
                file.unlink()


def _tell(folder: Path, report: EvidenceReport, start: datetime | None, end: datetime | None) -> None:
    times = [
        f" {option} {time.astimezone(UTC).isoformat().replace('+00:00', 'Z')}"
        for option, time in (("--since", start), ("--until", end))
        if time is not None
    ]
    stamped = f", and {counted(report.timestamps, 'timestamp')} of seals," if report.timestamps else ""
    output.words(
        f"Wrote {counted(report.entries, 'entry')} and {counted(report.seals, 'seal')}{stamped} to {folder}. With the"
        f" public key in a file: python -I verify_svc_pg.py export.ndjson seals.ndjson KEY{''.join(times)}"
    )
    if end is not None and report.sealed_at < end:
        ends = f"The last seal, of {records.text(report.sealed_at)}, does not reach to the end of the period"
        output.words(f"{ends}, so the program will exit with 3. Seal after that end, and write again.")
