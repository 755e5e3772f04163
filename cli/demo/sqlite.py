"""The audit half of the demo, on a file of SQLite and without any server."""

import json
import shlex
import shutil
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from svc_pg import Config, audit, schema
from svc_pg.database.statements import statement
from svc_pg.formats.json_writer import encode
from svc_pg.integrations.sqlite import with_audit

from .. import output, records, tables
from .findings import Steps
from .showing import show_changes, show_steps

_SCHEMA: Final = statement("demo/shop_sqlite.sql")
_TOML: Final = """\
[[audit.tables]]
name = "customer"
redact = ["password_hash"]

[[audit.tables]]
name = "orders"
redact = {card_number = "last4"}

[[audit.tables]]
name = "product"

[[audit.tables.enrich]]
operation = "UPDATE"
label = "price nearly zero"
severity = "critical"
when = {changed = ["price"], after = {price = {lt = 2}}}
description = "{before[name]} went from {before[price]} to {after[price]}"

[[audit.tables.enrich]]
operation = "UPDATE"
label = "price changed"
severity = "low"
when = {changed = ["price"]}
"""
_SIGN_UP: Final = "insert into customer values (?, ?, ?, ?)"
_ORDER: Final = "insert into orders select ?, id, price, ? from product where id = ?"
_PAST: Final = "update product set price = 1 where id = 1"

# The changes in the shop: the user, and the statement with its parameters
_DAY: Final[list[tuple[str, str, tuple[object, ...]]]] = [
    ("alice", _SIGN_UP, (1, "Alice", "alice@example.com", "scrypt:5f1c")),
    ("alice", _ORDER, (7, "4929004400001881", 1)),
    ("bob", _SIGN_UP, (2, "Bob", "bob@exmaple.com", "scrypt:a0d3")),
    ("support", "update customer set email = ? where id = ?", ("bob@example.com", 2)),
    ("bob", "update customer set password_hash = ? where id = ?", ("scrypt:77e9", 2)),
    ("mara", "update product set price = ? where id = ?", (229, 1)),
]
_BARGAIN: Final = (8, "5105105105105100", 1)
_ABANDONED: Final = (9, "5105105105105100", 2)

# The entries that must be on record, newest first, without the order that was rolled back
_RECORD: Final = [
    ("bob", "INSERT", "main.orders"),
    (None, "UPDATE", "main.product"),
    ("mara", "UPDATE", "main.product"),
    ("bob", "UPDATE", "main.customer"),
    ("support", "UPDATE", "main.customer"),
    ("bob", "INSERT", "main.customer"),
    ("alice", "INSERT", "main.orders"),
    ("alice", "INSERT", "main.customer"),
]
_SECRETS: Final = ("scrypt", "492900440000", "510510510510")


@dataclass
class FileFindings(Steps):
    """``entries`` and ``alarms`` are as the console's API shows them; ``refusal`` is the error of the log's guard."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    alarms: list[dict[str, Any]] = field(default_factory=list)
    refusal: str = ""
    folder: Path | None = None

    @property
    def is_good(self) -> bool:
        """True if every change is on record, with its actor and without secrets, and the log cannot be emptied."""
        record = [(entry["actorId"], entry["operation"], entry["tableName"]) for entry in self.entries]
        is_alarmed = [(alarm["actorId"], alarm["label"]) for alarm in self.alarms] == [(None, "price nearly zero")]
        is_redacted = not any(secret in json.dumps(self.entries) for secret in _SECRETS)
        return record == _RECORD and is_alarmed and is_redacted and bool(self.refusal)

    @property
    def commands(self) -> list[str]:
        """The commands to explore the file with, if it stays."""
        if self.folder is None:
            return []
        file, config = self.folder / "shop.db", self.folder / "svc-pg.toml"
        url = ["--database-url", f"sqlite:///{file}"]
        return [
            shlex.join(command)
            for command in (
                ["svc-pg", "log", *url],
                ["svc-pg", "log", *url, "--record", "1", "--table", "product"],
                ["svc-pg", "status", *url, "--config", str(config)],
                ["svc-pg", "export", *url, "--format", "csv"],
            )
        ]

    def as_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "auditEntries": self.entries,
            "alarms": self.alarms,
            "refusal": self.refusal,
            "folder": None if self.folder is None else str(self.folder),
            "commands": self.commands,
            "steps": self.steps,
        }


def run_file_demo(*, stay: bool, as_json: bool) -> bool:
    """Run the demo; return whether all was recorded. With ``stay`` its folder stays; else it is removed."""
    findings = FileFindings()
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="svc-pg-demo-"))
        stack.callback(shutil.rmtree, folder)
        _make(folder, findings)
        _have_a_day(folder / "shop.db", findings)
        with findings.step("read the audit log"), closing(sqlite3.connect(folder / "shop.db")) as conn:
            findings.entries = _read(conn, audit.query())
            findings.alarms = _read(conn, audit.query().severity("critical"))
        if stay:
            findings.folder = folder
        if as_json:
            records.show_json(findings.as_json())
        else:
            _show(findings)
        if stay:
            stack.pop_all()
    return findings.is_good


def _make(folder: Path, findings: FileFindings) -> None:
    config = folder / "svc-pg.toml"
    config.write_text(_TOML, encoding="utf-8")
    with closing(sqlite3.connect(folder / "shop.db")) as conn:
        with findings.step("make a shop in a file of SQLite"):
            conn.executescript(_SCHEMA)
        with findings.step("install svc-pg by svc-pg.toml"):
            schema.install(conn, Config.from_toml(config))


def _have_a_day(file: Path, findings: FileFindings) -> None:
    """Change the shop by the application and by a script without svc-pg, on connections of their own."""
    with closing(with_audit(sqlite3.connect(file))) as shop, closing(sqlite3.connect(file)) as script:
        with findings.step(f"{len(_DAY)} changes by four people"):
            for user, statement, parameters in _DAY:
                with audit.acting(user), shop:
                    shop.execute(statement, parameters)
        with findings.step("a change past the application, and an attempt to empty the log"):
            with script:
                script.execute(_PAST)
            try:
                with script:
                    script.execute("delete from svc_audit_logs")
            except sqlite3.IntegrityError as error:
                findings.refusal = str(error)
        with findings.step("an order at the new price, and one that is rolled back"), audit.acting("bob"):
            with shop:
                shop.execute(_ORDER, _BARGAIN)
            shop.execute(_ORDER, _ABANDONED)
            shop.rollback()


def _read(conn: sqlite3.Connection, query: audit.AuditQuery) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(encode(query.list(conn).data))
    return entries


def _show(findings: FileFindings) -> None:
    show_changes(findings.entries)
    output.data("password_hash is in the table of customers, and in no entry: it is redacted.")
    output.data("Of the cards' numbers the log has four digits.")
    alarms = [[alarm[key] or "" for key in ("severity", "label", "description")] for alarm in findings.alarms]
    tables.show("Changed past the application", ["severity", "label", "change"], alarms, folding={"change"})
    output.data("Nobody is named, because no application told the triggers of an actor.")
    output.data(f"An attempt to empty the log was answered:\n  {findings.refusal}")
    show_steps(findings.steps)
    if findings.folder is None:
        output.data("\nNothing is left of it. Without --once the file stays, for a closer look.")
        return
    output.data(f"\nThe shop stays in {findings.folder} until you remove that folder. To look further:")
    for command in findings.commands:
        output.data(f"  {command}")
    output.data("Change it in the sqlite3 shell, and look again.")
    output.data('What to read next in the documentation: "The audit log on SQLite", "Databases" and "Audit capture".')
