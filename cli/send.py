"""The command ``send``."""

import sys
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from json import JSONDecodeError
from typing import Annotated, Any, Final
from uuid import UUID

import typer
from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from svc_pg import webhooks
from svc_pg.database.query import Query, fetch, scalar
from svc_pg.database.statements import statement
from svc_pg.errors import AccessError, PayloadError, UnknownEventError
from svc_pg.formats.plurals import counted

from . import json_text, output, records
from .completion import events
from .database import connect
from .named_ids import tenant_id
from .options import Json, PostgresUrl, duration

app = typer.Typer()

_AT_ONCE: Final = timedelta(0)
_EXCERPT: Final = 30  # characters on either side of the position where a text stops being JSON
_QUOTE: Final = """Quote it for the shell, such as '{"id": 7}', or pipe it: svc-pg send EVENT -"""
_SENT: Final = statement("queries/cli/sent_message.sql")


@dataclass(frozen=True, slots=True)
class _Sent:
    is_new: bool
    endpoints: int
    undecided: int  # by their filters: these deliveries have failed without an attempt


@app.command()
def send(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="The name of the event.", show_default=False, autocompletion=events)
    ],
    payload: Annotated[
        str, typer.Argument(metavar="JSON|-", help="The payload, or - for standard input.", show_default=False)
    ],
    *,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="The tenant that the message belongs to.")
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Send nothing if this key was used before, for the same tenant.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Number the message among those of this key, for example order-7.")
    ] = None,
    delay: Annotated[timedelta | None, duration(meaning="Deliver after this time, for example 10m.")] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Send an event to every endpoint that subscribes to it, and print the message's id. Workers deliver it."""
    text = _standard_input() if payload == "-" else payload
    _check(text, hint=None if payload == "-" else _QUOTE)
    tenant = None if tenant is None else tenant_id(tenant, database_url)
    with connect(database_url) as conn:
        try:
            message = webhooks.send(
                conn, event, text, idempotency_key=idempotency_key, tenant=tenant, delay=delay or _AT_ONCE, key=key
            )
        except UnknownEventError as error:
            conn.rollback()
            raise UnknownEventError(error.message, hint=_nearest(conn, event) or error.hint) from error
        sent = _what_was_sent(conn, message)
    if json:
        facts = (sent.is_new, sent.endpoints, sent.undecided) if sent else (None, None, None)
        records.show_json({"id": str(message), **dict(zip(("isNew", "endpoints", "undecided"), facts, strict=True))})
        return
    output.data(str(message))
    output.words(_summary(sent))


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise PayloadError(
            f"the payload is not UTF-8: byte {error.start + 1} is 0x{error.object[error.start]:02x}"
        ) from error


def _check(text: str, *, hint: str | None) -> None:
    """Point at the first error in JSON text. Text that passes stays unchanged, and PostgreSQL decides."""
    try:
        json_text.parse(text)
    except JSONDecodeError as error:
        line, at = text.split("\n")[error.lineno - 1], error.colno - 1
        before = json_text.printable(line[max(at - _EXCERPT, 0) : at])
        after = json_text.printable(line[at : at + _EXCERPT])
        raise PayloadError(
            f"the payload is not JSON: {error.msg.removesuffix(' at')}, line {error.lineno}, column {error.colno}\n"
            f"  {before}{after}\n  {' ' * len(before)}^",
            hint=hint,
        ) from error
    except ValueError as error:
        raise PayloadError(f"the payload is not JSON: {error}", hint=hint) from error


def _nearest(conn: Connection[Any], event: str) -> str | None:
    try:
        known: list[str] = scalar(conn, "select pg_catalog.array_agg(name) from svc.webhook_event_types") or []
    except InsufficientPrivilege:  # a sender may lack the right to read
        return None
    near = get_close_matches(event, known, n=1)
    return f'Did you mean "{near[0]}"?' if near else None


def _what_was_sent(conn: Connection[Any], message: UUID) -> _Sent | None:
    try:
        with conn.transaction():
            [sent] = fetch(conn, Query(_SENT, (message,), _Sent))
    except AccessError:  # a sender may lack the right to read
        return None
    return sent


def _summary(sent: _Sent | None) -> str:
    if sent is None:
        return "Sent. This role may not read to how many endpoints."
    to = counted(sent.endpoints, "endpoint")
    if not sent.is_new:
        return f"This idempotency key was used before, so nothing more is sent; the first message went to {to}."
    if sent.undecided:
        return (
            f"It goes to {to}. The filter of {counted(sent.undecided, 'endpoint')} cannot be decided; for the reason: "
            "svc-pg webhooks deliveries --status failed"
        )
    if sent.endpoints:
        return f"It goes to {to}."
    return "No endpoint wants it. To register one: svc-pg webhooks add --url URL --event EVENT"
