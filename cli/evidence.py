"""The command ``evidence``."""

from pathlib import Path
from typing import Annotated

import typer

from svc_pg import audit
from svc_pg.audit.exports.evidence import verifier
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted

from . import output
from .database import connect
from .options import PostgresUrl, point_in_time
from .output_file import explained, opened_output
from .progress import progress

app = typer.Typer()


@app.command()
def evidence(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write to; made if need be.")],
    *,
    since: Annotated[str | None, point_in_time(meaning="Only entries since then.")] = None,
    until: Annotated[str | None, point_in_time(meaning="Only entries before then.")] = None,
    database_url: PostgresUrl = None,
) -> None:
    """Write entries, seals and a program that verifies them, for an auditor without a database."""
    given = {"since": since, "until": until}
    period = {name: durations.point_in_time(text) for name, text in given.items() if text is not None}
    with connect(database_url) as conn, progress() as show:
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
        show("seals and entries")
        with opened_output(folder / "export.ndjson") as export, opened_output(folder / "seals.ndjson") as seals:
            report = audit.evidence(conn, export=export, seals=seals, **period)
        with opened_output(folder / "verify_svc_pg.py") as program:
            program.write(verifier())
    output.words(
        f"Wrote {counted(report.entries, 'entry')} and {counted(report.seals, 'seal')} to {folder}. With the public key"
        " in a file: python verify_svc_pg.py export.ndjson seals.ndjson KEY"
    )
