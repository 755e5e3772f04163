"""The command ``webhooks replay``: messages once more, batch after batch."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any, Unpack

import typer
from psycopg import Connection

from svc_pg.database.query import Query, fetch_one
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.deliveries import replay_queries
from svc_pg.webhooks.deliveries.delivery_filters import ReplayFilter
from svc_pg.webhooks.deliveries.replay_queries import REPLAY_BY, ReplayResult

from .. import output, records
from ..completion import one_of
from ..database import connect
from ..filter_options import filter_options
from ..named_ids import endpoint_id
from ..operator import acting_as_operator
from ..options import Json, PostgresUrl

app = typer.Typer()


@app.command()
@filter_options(ReplayFilter)
def replay(
    *,
    endpoint: Annotated[
        str, typer.Option(metavar="ENDPOINT", help="The endpoint that gets the messages.", show_default=False)
    ],
    by: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Apply --since and --until to when messages were sent, or to when deliveries finished: failed or were"
            " canceled.",
            autocompletion=one_of(*REPLAY_BY),
        ),
    ] = "sent",
    new_ids: Annotated[
        bool, typer.Option("--new-ids", help="Send copies with ids of their own, which receivers do not recognize.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the deliveries.")] = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="CURSOR", help="Continue a replay that was interrupted, with the same options."),
    ] = None,
    database_url: PostgresUrl = None,
    json: Json = False,
    **which: Unpack[ReplayFilter],
) -> None:
    """Deliver messages to an endpoint once more, or messages that it never got."""
    batch = partial(replay_queries.replay, endpoint_id(endpoint, database_url), **which, by=by, new_ids=new_ids)
    with connect(database_url) as conn, acting_as_operator(conn):
        with conn.transaction():
            start = fetch_one(conn, batch(after=after, batch=0)).next_cursor
        if not dry_run:
            expected = sum(part.count for part in _batches(conn, partial(batch, dry_run=True), start))
            output.words(f"{counted(expected, 'delivery')}. To continue after an interruption: --after {start}")
        count = 0
        for part in _batches(conn, partial(batch, dry_run=dry_run), start):
            count += part.count
            if part.next_cursor and not dry_run:
                output.words(f"{count} so far. To continue after an interruption: --after {part.next_cursor}")
    if json:
        records.show_json({"count": count, "isDryRun": dry_run})
        return
    verb = "would be" if dry_run else "is" if count == 1 else "are"
    output.words(f"{counted(count, 'delivery')} {verb} due.")


def _batches(
    conn: "Connection[Any]", batch: Callable[..., Query[ReplayResult]], after: str | None
) -> Iterator[ReplayResult]:
    """The batches after a cursor, each in a transaction of its own."""
    while after is not None:
        with conn.transaction():
            part = fetch_one(conn, batch(after=after))
        yield part
        after = part.next_cursor
