"""The command ``init``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from svc_pg import Config
from svc_pg.config import DEFAULT_FILE
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError, SvcError
from svc_pg.formats.plurals import counted
from svc_pg.scaffold.next_steps import Step, lacking_lines, next_steps
from svc_pg.scaffold.project import Project, read_project
from svc_pg.scaffold.proposal import Proposal, propose, unnamed
from svc_pg.scaffold.toml_text import toml_text

from . import output, records
from .confirming import Yes, confirm
from .database import open_database
from .files.output_file import explained
from .json_text import printable
from .options import DatabaseUrl, Json

app = typer.Typer()

_SHOWN: Final = 10


@app.command()
def init(
    *,
    database_url: DatabaseUrl = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the file, and write nothing.")] = False,
    json: Json = False,
) -> None:
    """Look at the database and at the project in this folder, propose svc-pg.toml, and tell the next steps.

    The proposal names what to redact by the names of columns and by samples of values, which are neither shown nor
    kept. The project's code is read, and not run. If there is a svc-pg.toml already, it stays as it is, and what the
    project lacks is told.
    """
    folder = Path()
    if os.path.lexists(DEFAULT_FILE):
        _tell_new(database_url, as_json=json)
        return
    if not dry_run and not os.access(folder, os.W_OK):
        raise SvcError(
            f"this folder cannot be written: {folder.absolute()}", hint="Run it in the project, or --dry-run."
        )
    with open_database(database_url) as conn:
        proposal = propose(conn)
    project = read_project(folder)
    text = toml_text(proposal)
    steps = next_steps(project)
    for problem in project.problems:
        output.words(f"note: {problem}.")
    _tell(proposal)
    if dry_run:
        if not json:
            output.data(text.rstrip())
    else:
        question = f"Write {DEFAULT_FILE} with {counted(len(proposal.tables), 'table')}?"
        confirm(question, yes=yes, instead="Add --yes, or --dry-run.")
        _write(text)
    if json:
        records.show_json(_found(proposal, project, steps) | {"isWritten": not dry_run, "newTables": []})
    elif not dry_run:
        _show([Step(f"Read {DEFAULT_FILE}, and correct it"), *steps])


def _tell_new(database_url: str | None, *, as_json: bool) -> None:
    try:
        config = Config.find()
    except ConfigError as error:
        hint = error.hint or "Correct it, or move it away to have a new one."
        raise ConfigError(error.message, hint=hint) from error
    with open_database(database_url) as conn:
        tables = unnamed(conn, config)
    steps = lacking_lines(read_project(Path()))
    if as_json:
        new = [str(name) for name in tables]
        records.show_json({"isWritten": False, "newTables": new, "steps": [_step(each) for each in steps]})
        return
    output.words(f"{DEFAULT_FILE} is here already, and stays as it is.")
    if tables:
        output.words(f"It names none of {counted(len(tables), 'table')}:")
        for name in tables:
            output.data(printable(str(name)))
        output.words(
            "To record one, add its name below [[audit.tables]], with its key if it has no primary key, and run:"
            " svc-pg install"
        )
    else:
        output.words("It names every table that has a key.")
    if steps:
        output.words("The project lacks:")
        _show(steps)


def _tell(proposal: Proposal) -> None:
    redacted = sum(len(table.redact) for table in proposal.tables)
    output.words(
        f"{counted(len(proposal.tables), 'table')} to record, {counted(redacted, 'column')} to redact,"
        f" {counted(len(proposal.left_out), 'table')} left out."
    )
    by_reason: dict[str, list[TableName]] = {}
    for table in proposal.unread:
        by_reason.setdefault(table.unread or "", []).append(table.name)
    for reason, names in by_reason.items():
        shown = ", ".join(map(str, names[:_SHOWN])) + (" ..." if len(names) > _SHOWN else "")
        output.words(f"note: proposed by the names of columns alone, because of {shown}: {reason}.")


def _write(text: str) -> None:
    """Write the file, which another may have made meanwhile. Raises SvcError."""
    with explained(DEFAULT_FILE):
        try:
            file = DEFAULT_FILE.open("x", encoding="utf-8")
        except FileExistsError:
            raise SvcError(f"{DEFAULT_FILE} was made meanwhile, and nothing is written") from None
        try:
            with file:
                file.write(text)
        except BaseException:  # a part of it would look like a choice of tables
            DEFAULT_FILE.unlink(missing_ok=True)
            raise
    output.words(f"wrote {DEFAULT_FILE}")


def _show(steps: Sequence[Step]) -> None:
    for number, step in enumerate(steps, 1):
        output.data(printable(f"{number}. {step.words}{_place(step)}{':' if step.lines else '.'}"))
        for line in step.lines:
            output.data(f"   {printable(line)}")


def _place(step: Step) -> str:
    if step.place is None:
        return ""
    where = f", in {step.place.file}"
    if step.place.line:
        where += f" after line {step.place.line}"
    return where + (f", in the {step.place.within}" if step.place.within else "")


def _found(proposal: Proposal, project: Project, steps: Sequence[Step]) -> dict[str, Any]:
    return {
        "tables": [
            {
                "table": str(table.name),
                "redact": [
                    {"column": each.column, "redaction": each.redaction, "reason": each.reason} for each in table.redact
                ],
                "ignore": [{"column": column, "reason": reason} for column, reason in table.ignore.items()],
                "personal": list(table.personal),
                "title": table.title,
                "key": list(table.key),
                "unread": table.unread,
            }
            for table in proposal.tables
        ],
        "leftOut": [{"table": str(name), "reason": reason} for name, reason in proposal.left_out.items()],
        "event": None if proposal.event is None else proposal.event.name,
        "migrations": project.migrations,
        "applications": [
            {
                "framework": each.framework,
                "file": str(each.place.file),
                "module": each.place.module,
                "line": each.place.line,
                "name": each.place.target,
            }
            for each in project.applications
        ],
        "problems": project.problems,
        "steps": [_step(each) for each in steps],
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "words": step.words,
        "file": str(step.place.file) if step.place else None,
        "line": step.place.line if step.place else None,
        "column": step.place.column if step.place else None,
        "lines": list(step.lines),
    }
