"""The command ``webhooks try-filter``."""

from collections.abc import Iterator
from typing import Annotated

import typer

from svc_pg.webhooks.endpoints.tried_filters import TriedMessage, try_filter

from .. import output, records
from ..completion import events
from ..database import connect
from ..json_text import printable
from ..named_ids import tenant_id
from ..options import Json, PostgresUrl

app = typer.Typer()


@app.command("try-filter")
def try_on_messages(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="The filter, for example '$.total > 9'.", show_default=False),
    ],
    *,
    event: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVENT", help='Of the endpoint: an event or "order.*". Repeat it for more.', autocompletion=events
        ),
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="The tenant of the endpoint.")] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
) -> None:
    """Tell which of the newest messages a filter would let through, before an endpoint has it. Changes nothing."""
    tenant = None if tenant is None else tenant_id(tenant, database_url)
    with connect(database_url) as conn:
        tried = try_filter(conn, path, events=event or ["*"], tenant=tenant)
    if json:
        records.show_json(tried)
        return
    for message in tried:
        for line in _message(message):
            output.data(line)
    met = sum(message.is_met is True for message in tried)
    none = "None of the newest 1,000 messages has such an event."
    output.words(f"It would let {met} of the newest {len(tried)} through." if tried else none)


def _message(message: TriedMessage) -> Iterator[str]:
    verdict = "not known" if message.is_met is None else "sent" if message.is_met else "left out"
    of = f"  of {printable(message.tenant)}" if message.tenant else ""
    yield f"{message.id}  {verdict}  {message.event_name}  {records.text(message.created_at)}{of}"
    if message.problem:
        yield f"    {printable(message.problem)}"
