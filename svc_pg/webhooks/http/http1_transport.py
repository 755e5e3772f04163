"""POST webhooks over HTTP/1.1 with asyncio, llhttp and c-ares, also through a proxy."""

import asyncio
import logging
from collections import deque
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http import open_files
from svc_pg.webhooks.http.connection import Connection, NoConnection
from svc_pg.webhooks.http.dialer import Dial, Dialer
from svc_pg.webhooks.http.exchange import Exchange
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.pool import Pool
from svc_pg.webhooks.http.proxy import Proxy
from svc_pg.webhooks.http.route import Route, route
from svc_pg.webhooks.http.transport import Destination, Done, Request, Result

_log = logging.getLogger(__name__)

_MOST_IDLE: Final = 1000
_MOST_WAITING: Final = 10_000
_FAILED: Final = "svc-pg itself failed; see its log"


class Http1Transport:
    """The Transport of workers. Create it inside the event loop that uses it.

    At most ``concurrency`` requests run at once; 10,000 others wait, and their timeouts start after the wait. Idle
    connections take at most a quarter of the files that the process may open. A receiver that sends without end costs
    at most one read in each round of the event loop, until it meets a bound of ResponseReader.

    A ``proxy`` resolves the names, so that the guard sees only addresses that are written in URLs.
    """

    def __init__(self, guard: Guard, *, concurrency: int, proxy: Proxy | None = None) -> None:
        self.pool = Pool(most=min(open_files.limit() // 4, _MOST_IDLE))
        self._guard = guard
        self._proxy = proxy
        self._concurrency = concurrency
        self._loop = asyncio.get_running_loop()
        self._dialer = Dialer(guard, proxy)
        self._routes: WeakKeyDictionary[Destination, Route] = WeakKeyDictionary()
        self._under_way: set[Exchange] = set()
        self._waiting: deque[Exchange] = deque()
        self._connecting: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, request: Request, done: Done) -> None:
        """Post the request; see Transport."""
        if self._is_closed:
            raise RuntimeError("the transport is closed")
        exchange = Exchange(request, done, self, self._loop)
        if len(self._under_way) < self._concurrency:
            self._begin(exchange)
        elif len(self._waiting) < _MOST_WAITING:
            self._waiting.append(exchange)
        else:
            self._under_way.add(exchange)
            full = Result("local_error", error=f"{_MOST_WAITING} requests wait already")
            self._loop.call_soon(self.end, exchange, full)

    async def close(self) -> None:
        """Break off the requests under way and close every connection."""
        self._is_closed = True
        self._waiting.clear()
        for exchange in self._under_way:
            exchange.cancel()
        self._under_way.clear()
        self.pool.clear()
        for task in self._connecting:
            task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        await self._dialer.close()

    def connect(self, exchange: Exchange) -> None:
        """As the exchange's owner."""
        task = self._loop.create_task(self._connect(exchange))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def end(self, exchange: Exchange, result: Result) -> None:
        """As the exchange's owner."""
        if exchange not in self._under_way:
            return  # the transport was closed
        self._under_way.remove(exchange)
        while self._waiting and len(self._under_way) < self._concurrency:
            self._begin(self._waiting.popleft())
        try:
            exchange.done(result)
        except Exception:  # noqa: BLE001 - a bug of others must not harm the transport
            _log.exception("a result was lost")

    def _begin(self, exchange: Exchange) -> None:
        self._under_way.add(exchange)
        destination = exchange.request.destination
        try:
            known = self._routes.get(destination)
            if known is None:
                known = self._routes[destination] = route(destination, self._guard, self._proxy)
            exchange.begin(known)
        except EndpointError as error:
            self._loop.call_soon(exchange.fail, "blocked", error.message)
        except Exception:  # noqa: BLE001 - a bug must not lose the request
            _log.exception("a request cannot be posted")
            self._loop.call_soon(exchange.fail, "connect_error", _FAILED)

    async def _connect(self, exchange: Exchange) -> None:
        site, within = exchange.route.site, exchange.route.connect_timeout
        dial = Dial(site)
        late = f"no connection within {within:g} s"
        if exchange.remaining < within:
            within, late = exchange.remaining, exchange.late
        try:
            connection = await self._dialer.open(dial, partial(Connection, site, self.pool), within, late)
            exchange.post(connection)
        except NoConnection as error:
            exchange.fail(error.outcome, error.error, dial.remote_ip)
        except Exception:  # noqa: BLE001 - a bug must not lose the request
            _log.exception("a connection cannot be opened")
            exchange.fail("connect_error", _FAILED, dial.remote_ip)
