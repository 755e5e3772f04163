"""Many requests to receivers of all kinds: each gets one result, its own. ``tests.benchmarks.transport`` sends more."""

import pytest

from svc_pg.webhooks.http.transport import Transport
from tests.support.mixed_receivers import mixed_receivers, soak

pytestmark = pytest.mark.anyio


async def test_each_of_many_mixed_requests_gets_its_own_result(transport: Transport) -> None:
    async with mixed_receivers() as destinations:
        assert await soak(transport, destinations, requests=1000) == {}
