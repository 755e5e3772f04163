"""The clients of the HTTP API."""

from datetime import timedelta
from types import TracebackType
from typing import Final, Self

import httpx

from svc_pg.client.addresses import api_address
from svc_pg.client.attempts import MAX_ATTEMPTS, MAX_BYTES, Bounds, Pace
from svc_pg.client.connection import Bearer
from svc_pg.client.generated.async_calls import AsyncResources
from svc_pg.client.generated.calls import Resources
from svc_pg.client.generated.operations import PREFIX
from svc_pg.client.operations import header
from svc_pg.client.performing import Api, AsyncApi
from svc_pg.errors import ConfigError
from svc_pg.version import __version__

TIMEOUT: Final = timedelta(seconds=60)
PATIENCE: Final = timedelta(minutes=3)

_LONGEST: Final = timedelta(days=365)
_USER_AGENT: Final = f"svc-pg/{__version__}"


class Client(Resources):
    """A client of the HTTP API, for any number of threads.

    ``base_url`` is the address of the application that has the console, such as ``https://shop.example``, perhaps with
    a path. ``token`` is one of a program (``svc-pg console token add``), or of a session. It is sent to this server
    alone, and no redirect is followed; to send it unencrypted to another machine needs ``allow_http``.

    Each operation of the API is a method: ``client.endpoints.list(tenant="acme")``. An answer is an object with the
    members of the answer as attributes; a list is a ``Page``, and ``iterate`` goes through all pages. Failures raise
    errors below ``ClientError``.

    What makes something has an ``Idempotency-Key``, so that the server makes it once. A call that fails in passing is
    repeated if that cannot make anything twice, up to ``max_attempts`` attempts, after the waits that the server asks
    for (``Retry-After``, ``RateLimit``). An attempt in which the server is silent for ``timeout`` has failed; all
    attempts of a call, with the waits between them, take at most ``patience``; of this client, not of ``AsyncClient``,
    the head of an answer takes longer if bytes of it keep coming. An answer, or a row of a stream, has at most
    ``max_bytes``.

    A proxy of the environment (``HTTPS_PROXY``) is used for ``https://`` alone: it cannot read the token.
    ``http_client`` is an ``httpx.Client`` of your own, for example with a proxy or a certificate; it stays open.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        max_attempts: int = MAX_ATTEMPTS,
        max_bytes: int = MAX_BYTES,
        allow_http: bool = False,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._is_ours = http_client is None
        address = api_address(base_url, prefix=PREFIX, allow_http=allow_http)
        self._api = Api(
            address=address,
            auth=_bearer(token),
            bounds=_bounds(timeout, patience, max_attempts, max_bytes),
            pace=Pace(),
            user_agent=_USER_AGENT,
            http=http_client or httpx.Client(trust_env=_may_have_proxy(address)),
        )
        super().__init__(self._api)

    def close(self) -> None:
        """Close its connections."""
        if self._is_ours:
            self._api.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._api.address!r})"


class AsyncClient(AsyncResources):
    """As ``Client``, for asyncio: methods are awaited, and lists and streams iterated by ``async for``.

    ``http_client`` is an ``httpx.AsyncClient``.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        max_attempts: int = MAX_ATTEMPTS,
        max_bytes: int = MAX_BYTES,
        allow_http: bool = False,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._is_ours = http_client is None
        address = api_address(base_url, prefix=PREFIX, allow_http=allow_http)
        self._api = AsyncApi(
            address=address,
            auth=_bearer(token),
            bounds=_bounds(timeout, patience, max_attempts, max_bytes),
            pace=Pace(),
            user_agent=_USER_AGENT,
            http=http_client or httpx.AsyncClient(trust_env=_may_have_proxy(address)),
        )
        super().__init__(self._api)

    async def close(self) -> None:
        """Close its connections."""
        if self._is_ours:
            await self._api.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._api.address!r})"


def _may_have_proxy(address: str) -> bool:
    """True if a proxy of the environment cannot read the token; it would get one for ``http://localhost`` too."""
    return address.startswith("https://")


def _bearer(token: str | None) -> Bearer | None:
    return None if token is None else Bearer(header("token", token))


def _bounds(timeout: timedelta, patience: timedelta, max_attempts: int, max_bytes: int) -> Bounds:
    if timeout <= timedelta(0) or patience <= timedelta(0) or max_attempts < 1 or max_bytes < 1:
        raise ConfigError("timeout, patience, max_attempts and max_bytes of a client are more than 0")
    if max(timeout, patience) > _LONGEST:  # beyond the clock of a socket, some time later
        raise ConfigError(f"timeout and patience of a client are at most {_LONGEST.days} days")
    return Bounds(timeout=timeout, patience=patience, max_attempts=max_attempts, max_bytes=max_bytes)
