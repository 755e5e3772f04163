"""The connections of the aiohttp transport: a bounded number of them stay open while they are idle."""

from collections import OrderedDict
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from svc_pg.webhooks.http.aiohttp_attempt import current

only_new: ContextVar[bool] = ContextVar("only_new", default=False)
"""True if a request must have a new connection; pooled ones to its receiver are closed then."""


class Connector(aiohttp.TCPConnector):
    """A connector without a limit of connections in use. Of idle ones it keeps ``most_idle``, the last used."""

    def __init__(self, *, most_idle: int, **options: Any) -> None:
        super().__init__(limit=0, **options)
        self._most_idle = most_idle
        self._resting: OrderedDict[ResponseHandler, None] = OrderedDict()

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Any],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 - aiohttp calls it so
    ) -> Connection:
        """A connection for the request, pooled or new."""
        while True:
            connection = await super().connect(req, traces, timeout)
            if (protocol := connection.protocol) is None:
                return connection
            is_pooled = protocol in self._resting
            self._resting.pop(protocol, None)
            if not (is_pooled and only_new.get()):
                connection.add_callback(partial(self._rest, protocol))
                return connection
            connection.close()

    async def _wrap_create_connection(self, *args: Any, **options: Any) -> Any:
        """Notes that the receiver or the proxy was reached: what follows may be slow for another reason."""
        made = await super()._wrap_create_connection(*args, **options)
        current.get().is_connected = True
        return made

    def close_idle(self) -> None:
        """Close all idle connections, to have their files."""
        self._shrink(0)

    def _rest(self, protocol: ResponseHandler) -> None:
        """Called before aiohttp takes a connection back, which closes those that cannot be used again."""
        if protocol.is_connected() and not protocol.should_close:
            self._resting[protocol] = None
            self._shrink(self._most_idle)

    def _shrink(self, size: int) -> None:
        while len(self._resting) > size:
            protocol, _ = self._resting.popitem(last=False)
            if protocol.transport is not None:
                protocol.transport.abort()  # aiohttp takes none from its pool that is not connected
