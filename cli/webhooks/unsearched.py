"""Tell which messages a search by payloads cannot find yet."""

from svc_pg.database.query import fetch
from svc_pg.webhooks.payload_search import search_keys, unsearched

from .. import output
from ..database import connect


def tell_of_unsearched(searched: str | None, database_url: str | None) -> None:
    """Say so on standard error, if there are any."""
    if searched is None:
        return
    with connect(database_url) as conn:
        sentence = unsearched(searched, fetch(conn, search_keys()))
    if sentence:
        output.words(sentence)
