"""Search by the keys of payloads that the configuration names: the condition on messages, and the keys that there are.

A searched value is a text ``KEY=VALUE``. Each message has a row for each of its values in the table of searched values,
in which a value leads to its messages from the newest on, for a tenant from the newest of that tenant's on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, LiteralString

from svc_pg.database.pagination import ALL
from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.database.storable_texts import check_texts
from svc_pg.database.stretches import Ids, Lead, Span
from svc_pg.errors import QueryError
from svc_pg.formats.doc import Doc
from svc_pg.formats.human_times import exact
from svc_pg.formats.plurals import counted
from svc_pg.webhooks.field_docs import EVENT_NAME
from svc_pg.webhooks.found_messages import ByMessages

MAX_VALUE_BYTES: Final = 1024  # in svc.webhook_search_digests too

_KEYS: Final = statement("queries/webhooks/search_keys.sql")
_MOST_NAMED: Final = 5
_SHOWN: Final = 60
_EXAMPLE: Final = "Write the key and its value: number=1045."

_OF_ALL: Final = """ from (
    select v.message_id as found from svc.webhook_search_values v where v.digest = svc.webhook_searched(%s, %s, %s)
"""
_OF_TENANT: Final = _OF_ALL + " and v.tenant = %s"
_DIGEST: Final = "svc.webhook_searched(%s, %s, %s)"
# a scalar, so that it is looked up for each row and not hashed, which would read all that have the value
_HAS: Final = """(
    select v.message_id from svc.webhook_search_values v
     where v.message_id = {id} and v.digest = (select svc.webhook_searched(%s, %s, %s))
) is not null"""


@dataclass(frozen=True, slots=True)
class SearchKey:
    """A key of the payloads of an event by which its messages are found."""

    key: Annotated[str, Doc("The key: names of members, with dots between them.", "customer.id")]
    event_name: Annotated[str, EVENT_NAME]
    since: Annotated[
        datetime | None,
        Doc("Messages from then on are found by it; null if all are."),
    ]


@dataclass(frozen=True, slots=True)
class SearchedValue:
    """A value that messages are asked for, of those of one tenant and of one event if they are given."""

    key: str
    value: str
    tenant: str | None = None
    event: str | None = None

    @classmethod
    def parse(cls, text: str) -> "SearchedValue":
        """Read ``KEY=VALUE``. Raises QueryError."""
        check_texts(text)
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise QueryError(f"{text[:_SHOWN]!r} is no key with a value", hint=_EXAMPLE)
        if len(value.encode()) > MAX_VALUE_BYTES:
            raise QueryError(
                f"a searched value has more than {MAX_VALUE_BYTES} bytes",
                hint="Longer values of payloads are not found.",
            )
        return cls(key, value)

    @property
    def condition(self) -> tuple[LiteralString, *tuple[object, ...]]:
        """A condition that refuses an unknown key, also if no row would ask for the value's digest."""
        return "svc.webhook_searched(%s, %s, %s) is not null", self.key, self.value, self.event

    def of(self, message: LiteralString) -> tuple[LiteralString, *tuple[object, ...]]:
        """A condition on the id of one message, as an expression."""
        return _HAS.replace("{id}", message), self.key, self.value, self.event

    def stretch(self, times: Ids, *, table: LiteralString, key: LiteralString, name: LiteralString) -> ByMessages:
        """The rows of the messages that have it: see ``ByMessages``."""
        leads: tuple[Lead, ...] = (("v.digest", _DIGEST, (self.key, self.value, self.event)),)
        is_served = ALL.where(*self.condition)
        if self.tenant is not None:
            leads = ("v.tenant", "%s", (self.tenant,)), *leads
            is_served = is_served.where("v.tenant is not null")  # which the index has
        span = Span("v.message_id", times, leads)
        return ByMessages("svc.webhook_search_values v", span, table, key, name, is_served)

    @property
    def messages(self) -> LiteralString:
        """A ``from`` of the ids of the messages that have it, as ``s.found``; what follows goes on with a join."""
        return (_OF_ALL if self.tenant is None else _OF_TENANT) + ") s"

    @property
    def params(self) -> tuple[object, ...]:
        """The parameters of ``messages``."""
        searched = (self.key, self.value, self.event)
        return searched if self.tenant is None else (*searched, self.tenant)


def unsearched(searched: str, keys: Iterable[SearchKey]) -> str:
    """A sentence about the messages that a search for ``KEY=VALUE`` cannot find; empty if it finds all."""
    key = searched.partition("=")[0]
    parts = [
        f"{each.event_name} by {key} since {exact(each.since.astimezone(UTC))}"
        for each in keys
        if each.key == key and each.since
    ]
    more = max(0, len(parts) - _MOST_NAMED)
    named = ", ".join(parts[:_MOST_NAMED]) + (f", and {counted(more, 'other event')}" if more else "")
    return f"Messages of before are not found yet: {named}. Maintenance adds them." if parts else ""


def search_keys() -> Query[SearchKey]:
    """All keys by which payloads are searched, with their events, in the order of the keys."""
    return Query(_KEYS, (), SearchKey)
