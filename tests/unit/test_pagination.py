"""An impossible page of any list is refused before it reaches a driver."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg import audit
from svc_pg.console.sign_in import sessions
from svc_pg.console.sign_in.tenant_table import SVC_TENANTS, Tenants
from svc_pg.database.pagination import Keyset, Listing, Page, Paged, aware_time, decode
from svc_pg.errors import QueryError
from svc_pg.webhooks.deliveries import delivery_queries as deliveries
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints

TENANTS = Tenants(SVC_TENANTS)

BY_TEXT: list[Callable[[str], object]] = [
    audit.query().record,
    audit.query().actor,
    audit.query().tenant,
    audit.query().label,
    audit.query().compliance,
    audit.query().changed,
    lambda text: audit.query().actor("ann", text),
    lambda text: audit.query().without(label=[text]),
    deliveries.query().event,
    endpoints.query().tenant,
    endpoints.query().event,
    lambda text: TENANTS.query().after(forged("Acme", text)),
    lambda text: TENANTS.query().after(forged(text, "1")),
]
QUERIES: list[Callable[[], Paged[Any]]] = [
    audit.query,
    deliveries.query,
    endpoints.query,
    sessions.query,
    TENANTS.query,
]


def forged(*key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


@pytest.mark.parametrize("ask", BY_TEXT)
@pytest.mark.parametrize("text", ["a\0b", "\udcff", "a" * 10_001])
def test_a_text_that_no_database_takes_is_refused(ask: Callable[[str], object], text: str) -> None:
    with pytest.raises(QueryError, match=r"NUL or a lone surrogate|10001 characters"):
        ask(text)


@pytest.mark.parametrize("ask", BY_TEXT)
@pytest.mark.parametrize("text", ["", "Ünï 😀 \n", "a" * 10_000])
def test_any_other_text_can_be_asked_for(ask: Callable[[str], object], text: str) -> None:
    ask(text)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("size", [-1, 0, 1001])
def test_a_page_has_one_to_a_thousand_rows(query: Callable[[], Paged[Any]], size: int) -> None:
    with pytest.raises(QueryError, match="a page cannot have"):
        query().limit(size)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "cursor",
    ["", "no cursor", "é", forged(), forged("1"), forged("x", "y", "z"), forged(1, 2), forged({}, []), "W10" * 9999],
)
def test_what_is_no_cursor_is_refused(query: Callable[[], Paged[Any]], cursor: str) -> None:
    with pytest.raises(QueryError, match="is not a cursor"):
        query().after(cursor)
    with pytest.raises(QueryError, match="is not a cursor"):
        query().before(cursor)


@pytest.mark.parametrize("query", [audit.query, deliveries.query])
@pytest.mark.parametrize("long_ago", ["365001d", "999999999d", "P999999D"])
def test_a_time_before_the_calendar_of_the_database_is_refused(query: Callable[[], Any], long_ago: str) -> None:
    for ask in (query().since, query().until):
        with pytest.raises(QueryError, match="is too long ago"):
            ask(long_ago)
        ask("365000d")


@pytest.mark.parametrize("query", QUERIES)
def test_a_question_is_not_changed_by_what_is_made_of_it(query: Callable[[], Paged[Any]]) -> None:
    asked = query()
    assert asked.limit(7) != asked
    assert (asked.size, asked.position) == (100, None)


def test_a_page_is_iterated_by_its_rows() -> None:
    assert [*Page([1, 2], "cursor")] == [1, 2]


@given(st.text(), st.datetimes(timezones=st.just(UTC)), st.uuids())
def test_a_cursor_is_read_as_it_was_written(text: str, time: datetime, key: UUID) -> None:
    keyset: Keyset[int] = Keyset(
        select="",
        row=int,
        order="",
        beyond="",
        reverse_order="",
        before="",
        key=lambda _: (text, time.isoformat(), str(key)),
        read=lambda cursor: decode(cursor, str, aware_time, UUID),
    )
    cursor = Listing(keyset, size=1)._page([1, 2]).next_cursor
    assert cursor is not None
    assert keyset.read(cursor) == [text, time, key]
