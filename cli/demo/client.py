"""HTTP requests to the servers of the demo."""

import asyncio
import json
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from http.client import HTTPConnection
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

_PATIENCE: Final = 30.0  # seconds


class Response(NamedTuple):
    """A response that was read to its end; the names of ``headers`` are in small letters."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """The parsed JSON body; numbers with a fraction are decimals."""
        return json.loads(self.body, parse_float=Decimal)


async def request(
    method: str,
    url: str,
    *,
    parameters: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    value: Any = None,
) -> Response:
    """The response to a request, in a thread; ``value`` is sent as JSON. Raises OSError or HTTPException."""
    split = urlsplit(url)
    query = "&".join(filter(None, [split.query, urlencode(parameters or {})]))
    target = f"{split.path}?{query}"
    own = dict(headers or {})
    if value is not None:
        own["Content-Type"] = "application/json"
    body = None if value is None else json.dumps(value)
    return await asyncio.to_thread(partial(_request, method, split.netloc, target, body, own))


def _request(method: str, address: str, target: str, body: str | None, headers: Mapping[str, str]) -> Response:
    connection = HTTPConnection(address, timeout=_PATIENCE)
    try:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, response.read(), headers)
    finally:
        connection.close()
