"""Each filter that a TypedDict declares is a condition of its query."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any, Final
from uuid import UUID

import pytest

from svc_pg import audit
from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.console.sessions import event_log
from svc_pg.console.sessions.event_log import EventFilter
from svc_pg.console.sign_in import sessions
from svc_pg.console.sign_in.lifetimes import LifeFilter
from svc_pg.database.filters import ListFilter, applied, filters_of
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import HealthFilter
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import MessageFilter

DECLARED: Final[Mapping[type, Any]] = {
    DeliveryFilter: delivery_queries.query(),
    EndpointFilter: endpoint_queries.query(),
    HealthFilter: endpoint_health.query(),
    MessageFilter: message_queries.query(),
    EntryFilter: audit.query(),
    SearchFilter: audit.query(),
    EventFilter: event_log.query(),
    LifeFilter: sessions.query(),
}


def value_of(wanted: ListFilter) -> object:
    """A value that a filter takes."""
    words = {
        "id": str(UUID(int=7)),
        "ids": str(UUID(int=7)),
        "number": "7",
        "time": "1h",
        "flag": "true",
        "text": '{"a": "=1"}',
        "texts": "a",
    }
    text = wanted.choices[0] if wanted.choices else words[wanted.kind]
    return [text] if wanted.kind == "texts" else wanted.read(text)


@pytest.mark.parametrize("declaration", DECLARED, ids=lambda each: each.__name__)
def test_each_filter_that_is_declared_is_a_condition(declaration: type) -> None:
    query = DECLARED[declaration]
    found = [applied(query, declaration, {name: value_of(each)}) for name, each in filters_of(declaration).items()]
    assert all(each != query for each in found)
    assert all(first != second for first, second in combinations(found, 2))
    assert applied(query, declaration, dict.fromkeys(filters_of(declaration))) == query


def test_a_filter_that_is_not_known_is_refused_in_python() -> None:
    wanted: Any = {"sicne": "1h"}
    with pytest.raises(TypeError, match="'sicne' is no filter of this list; its filters are since, until, status"):
        delivery_queries.matching(**wanted)
