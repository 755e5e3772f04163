"""Open connections that carry no request now, for the next requests to their sites."""

import asyncio
from collections import OrderedDict
from typing import Final

from svc_pg.webhooks.http.connection import Connection
from svc_pg.webhooks.http.route import Site

_LONGEST_REST: Final = 15.0  # seconds


class Pool:
    """Keeps ``most`` idle connections, the last used, each for 15 s at most."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._idle: OrderedDict[Connection, None] = OrderedDict()  # the longest idle first
        self._by_site: dict[Site, dict[Connection, None]] = {}
        self._sweeping: asyncio.TimerHandle | None = None

    def take(self, site: Site) -> Connection | None:
        """The connection to this site that was used last, no longer in the pool; None if there is none."""
        resting = self._by_site.get(site)
        while resting:
            connection, _ = resting.popitem()
            del self._idle[connection]
            if not resting:
                del self._by_site[site]
            if connection.is_idle:
                return connection
            connection.abort()
        return None

    def keep(self, connection: Connection) -> None:
        """Keep the connection for later requests, if it can carry them."""
        if not connection.is_idle:
            connection.abort()
            return
        connection.idle_since = self._loop.time()
        self._idle[connection] = None
        self._by_site.setdefault(connection.site, {})[connection] = None
        if len(self._idle) > self._most:
            self.drop(next(iter(self._idle)))
        if self._sweeping is None:
            self._sweeping = self._loop.call_later(_LONGEST_REST, self._sweep)

    def drop(self, connection: Connection) -> None:
        """Close the connection, which may be in the pool or not."""
        if self._idle.pop(connection, connection) is None:
            resting = self._by_site[connection.site]
            del resting[connection]
            if not resting:
                del self._by_site[connection.site]
        connection.abort()

    def forget(self, site: Site) -> None:
        """Close all connections to this site."""
        for connection in list(self._by_site.get(site, ())):
            self.drop(connection)

    def clear(self) -> None:
        """Close all connections in the pool, to have their files."""
        while self._idle:
            self.drop(next(iter(self._idle)))
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None

    def _sweep(self) -> None:
        """Close connections that have been idle too long, and schedule the next sweep."""
        self._sweeping = None
        while self._idle:
            longest = next(iter(self._idle))
            wait = longest.idle_since + _LONGEST_REST - self._loop.time()
            if wait > 0:
                self._sweeping = self._loop.call_later(wait, self._sweep)
                return
            self.drop(longest)
