"""Every state that data can have is one that pages know: a page would fail at any other."""

from collections.abc import Collection
from typing import get_args

import pytest

from svc_pg.audit.log.entry import OPERATIONS, SEVERITIES
from svc_pg.console.pages import states
from svc_pg.console.pages.audit import changes
from svc_pg.console.sessions.event_log import EVENT_NAMES
from svc_pg.webhooks.deliveries import delivery_rows
from svc_pg.webhooks.endpoints import endpoint_rows
from svc_pg.webhooks.endpoints.endpoint_health import Health
from svc_pg.webhooks.http.transport import RecordedOutcome


def names(literal: object) -> set[str]:
    """The texts of a Literal, also of those within it."""
    return {literal} if isinstance(literal, str) else set().union(*map(names, get_args(literal)))


@pytest.mark.parametrize(
    ("known", "possible"),
    [
        (states.DELIVERIES, delivery_rows.STATUSES),
        (states.ENDPOINTS, {*endpoint_rows.STATUSES, *names(Health)}),
        (states.OUTCOMES, names(RecordedOutcome)),
        (states.SEVERITIES, SEVERITIES),
        (states.EVENTS, EVENT_NAMES),
        (changes.OPERATIONS, OPERATIONS),
    ],
    ids=["deliveries", "endpoints", "outcomes", "severities", "events", "operations"],
)
def test_pages_know_every_state(known: Collection[str], possible: Collection[str]) -> None:
    assert set(known) == set(possible)
