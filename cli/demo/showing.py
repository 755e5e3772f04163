"""Show the demo's findings to people."""

from collections.abc import Sequence
from datetime import timedelta
from textwrap import shorten
from typing import Any, Final

from svc_pg.formats.plurals import counted

from .. import output, tables
from ..json_text import printable
from .findings import Findings, Proof
from .hour import TAMPERING

_SIGNED: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")
_NEXT: Final = """
What to look at, in this order:
  1. Audit log, severity critical: somebody changed a price past the application.
  2. The record public.orders 900, which was bought at that price: who canceled it, and why.
  3. "Told by webhook" there: northwind has not been told. Its endpoint answers 503.
What to read next in the documentation: "Install and use", "Audit capture", "Send webhooks", "The console" and
"Inside your application"."""


def show(findings: Findings) -> None:
    """Print tables, a webhook with its signature, and the way into the console."""
    deliveries = [
        [sent["eventName"], sent["status"], f"{sent['attempts']} of {sent['maxAttempts']}", str(sent["lastStatusCode"])]
        for sent in reversed(findings.deliveries)
    ]
    alarms = [[entry[key] or "" for key in ("dbUser", "label", "description")] for entry in findings.alarms]
    show_changes(findings.entries)
    output.data("password_hash is in the table of customers, and in no entry: it is redacted.")
    alarmed = f"Changed past the application, {TAMPERING // timedelta(minutes=1)} minutes ago"
    tables.show(alarmed, ["user of the database", "label", "change"], alarms, folding={"change"})
    if findings.proof is not None:
        output.data(_proven(findings.proof))
    tables.show("What was delivered", ["event", "status", "attempts", "last status"], deliveries)
    show_steps(findings.steps)
    headers, body = findings.webhook
    output.data("\nThe last webhook, as it came, and as its receiver has verified it")
    for name in _SIGNED:
        output.data(f"  {name}: {printable(headers.get(name, ''))}")
    output.data(f"  {printable(body)}")
    output.data(f"\nConsole  {findings.sign_in_url}")
    output.data(f"Token    {findings.console_token}")
    output.data(f'Try      curl -H "Authorization: Bearer $TOKEN" {findings.console_url}/audit/entries')
    output.data(_NEXT)


def _proven(proof: Proof) -> str:
    if not proof.is_whole:
        return "That hour is NOT as it was sealed, or the tables are not as the log knows them."
    rows = f"{counted(proof.rows, 'row')} of {counted(proof.tables, 'table')}"
    return f"{counted(proof.entries, 'entry')} are as sealed, and {rows} as the log knows them."


def show_changes(entries: Sequence[dict[str, Any]]) -> None:
    """Print the entries, given newest first, in the order of time."""
    rows = [
        [entry["actorId"] or "(nobody)", entry["operation"], entry["tableName"], _change(entry)]
        for entry in reversed(entries)
    ]
    tables.show("Who changed what", ["actor", "operation", "table", "change"], rows, folding={"change"})


def show_steps(steps: Sequence[dict[str, Any]]) -> None:
    """Print the steps, and the time that each took."""
    rows = [[step["name"], f"{step['seconds'] * 1000:.0f}"] for step in steps]
    tables.show("How long it took", ["step", "ms"], rows, folding={"step"})


def _change(entry: dict[str, Any]) -> str:
    """The new row; of an update, the key and the changed fields, old and new."""
    before, after = entry["beforeData"], entry["afterData"]
    if before is None:
        row = ", ".join(f"{name}: {_short(str(value))}" for name, value in after.items())
        return shorten(row, width=64, placeholder=" …")
    fields = (
        f"{name}: {before[name]} → {after[name]}" if name in before else f"{name}: (redacted)"
        for name in entry["changedFields"]
    )
    return ", ".join([f"id: {entry['recordId']}", *fields])


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
