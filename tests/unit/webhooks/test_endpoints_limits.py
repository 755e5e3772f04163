"""The limits of an endpoint are told one at a time."""

from typing import Any

import pytest

from svc_pg.errors import EndpointError
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from tests.support.hooks import KEYS


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tenant": ""}, "the tenant is empty"),
        ({"tenant": "é" * 513}, "a tenant has at most 1024 bytes"),
        ({"tenant": "a" * 1001}, "the tenant has 1001 characters"),
        ({"tenant": "a\0"}, "the tenant contains NUL or a lone surrogate"),
        ({"description": "a" * 1001}, "the description has 1001 characters"),
        ({"description": "\0"}, "the description contains NUL or a lone surrogate"),
        ({"headers": {f"X-{number}": "1" for number in range(33)}}, "there are 33 headers"),
        ({"headers": {"X-One": "1" * 4091, "X-Two": "2" * 4092}}, "the headers have 8193 characters"),
        ({"headers": {"X-Key": "1", "x-key": "2"}}, 'header "x-key" occurs twice'),
        ({"description": "\udcff"}, "the description contains NUL or a lone surrogate"),
        ({"events": ["a\0"]}, "an event contains NUL or a lone surrogate"),
        ({"events": ["\ud83d"]}, "an event contains NUL or a lone surrogate"),
        ({"events": ["a" * 1001]}, "an event has 1001 characters"),
        ({"events": "order.created"}, "the events are a text"),
        ({"events": [7]}, "an event is 7, not a str"),
        ({"tenant": 7}, "the tenant is 7, not a str"),
        ({"timeout": 10}, "timeout is 10, not a timedelta"),
        ({"max_in_flight": 1.5}, "max_in_flight is 1 to 1000"),
        ({"rate_per_second": "8"}, "rate_per_second is 1 to 10000"),
    ],
)
def test_each_limit_has_its_own_message(wrong: dict[str, Any], message: str) -> None:
    wanted: dict[str, Any] = {"url": "https://example.com", "events": ["*"], "keys": KEYS, "guard": Guard()}
    with pytest.raises(EndpointError) as refusal:
        endpoints.create(**wanted | wrong)
    assert refusal.value.message == message


def test_the_reason_for_disabling_is_bounded_too() -> None:
    with pytest.raises(EndpointError, match="the reason has 1001 characters"):
        endpoints.disable("00000000-0000-7000-8000-000000000000", reason="a" * 1001)
