"""Endpoints by what people call them: the id, the description, the URL or the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from psycopg import Connection

from svc_pg.database.query import Query, fetch
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.errors import NotFoundError, QueryError

MOST_CANDIDATES: Final = 10

_NAMED: Final = statement("queries/webhooks/named_endpoints.sql")


@dataclass(frozen=True, slots=True)
class NamedEndpoint:
    """An endpoint that a text may name; ``is_exact`` if the text is all of its id, its description, URL or host.

    Otherwise one of these begins with the text.
    """

    id: str
    tenant: str | None
    description: str
    url: str
    is_exact: bool

    def __str__(self) -> str:
        return f"{self.id} ({', '.join(filter(None, (self.description, self.url, self.tenant)))})"


def id_of(conn: Connection[Any], text: str) -> str:
    """The id of the endpoint that a text names.

    An id is itself, without a look at the database. Raises NotFoundError if none is called so, and QueryError with the
    candidates if several are, or if a name of another tenant's endpoint begins so: tenants choose their own names.
    """
    try:
        return str(UUID(text))
    except ValueError:
        pass
    found = fetch(conn, _named(text)) if text.strip() else []
    named = [each for each in found if each.is_exact]
    if not named:
        hint = f"These begin so: {_listed(found)}." if found else "See svc-pg webhooks list."
        raise NotFoundError(f"no endpoint has the id {text!r}, or is called so", hint=hint)
    if len(named) > 1:
        raise QueryError(f"{text!r} may be one of several endpoints", hint=f"Write its id: {_listed(named)}.")
    if len({each.tenant for each in found}) > 1:
        raise QueryError(f"{text!r} may be an endpoint of several tenants", hint=f"Write its id: {_listed(found)}.")
    return named[0].id


def _named(text: str) -> Query[NamedEndpoint]:
    check_texts(text)
    return Query(_NAMED, (text, MOST_CANDIDATES + 1), NamedEndpoint)


def _listed(candidates: Sequence[NamedEndpoint]) -> str:
    shown = ", ".join(map(str, candidates[:MOST_CANDIDATES]))
    return shown + (", and more" if len(candidates) > MOST_CANDIDATES else "")
