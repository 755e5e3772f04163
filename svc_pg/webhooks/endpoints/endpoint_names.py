"""Endpoints by what people call them: the id, the description or the URL, or the beginning of one of these."""

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
    """An endpoint that a text may name; ``is_exact`` if the text is all of its id, its description, URL or host."""

    id: str
    description: str
    url: str
    is_exact: bool

    def __str__(self) -> str:
        return f"{self.id} ({', '.join(filter(None, (self.description, self.url)))})"


def id_of(conn: Connection[Any], text: str) -> str:
    """The id of the endpoint that a text names.

    An id is itself, without a look at the database. A name goes before the beginning of one. Raises NotFoundError if
    none fits, and QueryError with the candidates if several do.
    """
    try:
        return str(UUID(text))
    except ValueError:
        pass
    found = fetch(conn, _named(text)) if text.strip() else []
    candidates = [each for each in found if each.is_exact] or found
    match candidates:
        case [only]:
            return only.id
        case []:
            raise NotFoundError(f"no endpoint has the id {text!r}, or is called so", hint="See svc-pg webhooks list.")
    raise QueryError(f"{text!r} may be one of several endpoints", hint=f"Write its id: {_listed(candidates)}.")


def _named(text: str) -> Query[NamedEndpoint]:
    check_texts(text)
    return Query(_NAMED, (text, MOST_CANDIDATES + 1), NamedEndpoint)


def _listed(candidates: Sequence[NamedEndpoint]) -> str:
    shown = ", ".join(map(str, candidates[:MOST_CANDIDATES]))
    return shown + (", and more" if len(candidates) > MOST_CANDIDATES else "")
