"""POST webhooks through an egress proxy, with aiohttp and c-ares."""

import asyncio
import logging
import time
from datetime import timedelta
from functools import lru_cache, partial
from socket import SO_RCVBUF, SOL_SOCKET, socket

import aiodns  # noqa: F401 - aiohttp's AsyncResolver needs it, and would say so only when it is made
import aiohttp
from aiohttp.connector import AddrInfoType
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.resolver import AsyncResolver
from multidict import CIMultiDict
from yarl import URL

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http import open_files
from svc_pg.webhooks.http.aiohttp_attempt import Attempt, Response, current
from svc_pg.webhooks.http.connector import Connector, only_new
from svc_pg.webhooks.http.contexts import Contexts
from svc_pg.webhooks.http.failures import failure, proxy_fault
from svc_pg.webhooks.http.guard import BlockedAddress, Guard, UrlBy, check_headers
from svc_pg.webhooks.http.local_faults import ResolverProbe, is_no_answer, local_fault
from svc_pg.webhooks.http.response import MAX_BODY_BYTES, kept_body, kept_headers, parse_retry_after
from svc_pg.webhooks.http.route import DEFAULT_HEADERS
from svc_pg.webhooks.http.transport import Destination, Done, Outcome, Request, Result, judgement

_log = logging.getLogger(__name__)

_MOST_IDLE = 1000
_URLS = 1000  # their checks are cached
_NO_CREDENTIALS = 407
_FAILURES = (aiohttp.ClientError, HttpProcessingError, EndpointError, OSError, ValueError, MemoryError)


class AiohttpTransport:
    """The Transport that can use a proxy. Create it inside the event loop that uses it.

    At most ``concurrency`` requests run at once; others wait, and their timeouts start after the wait. Idle connections
    take at most a quarter of the files that the process may open. aiohttp bounds the receiver's headers: 128 of at most
    8 KiB each. ``proxy`` is the URL of an egress proxy. It resolves the names, so that the guard sees only addresses
    that are written in URLs.
    """

    def __init__(self, guard: Guard, *, concurrency: int, proxy: str | None = None) -> None:
        self._guard = guard
        self._url = lru_cache(_URLS)(self._checked_url)
        self._has_proxy = proxy is not None
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: set[asyncio.Task[Result]] = set()
        self._contexts = Contexts()
        self._resolver = AsyncResolver()  # c-ares: in threads, names that do not answer hold up those that do
        self._probe = ResolverProbe(self._resolver.resolve)
        self._connector = Connector(
            most_idle=min(open_files.limit() // 4, _MOST_IDLE),
            resolver=self._resolver,
            socket_factory=self._open_socket,
        )
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            response_class=Response,
            headers=DEFAULT_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            proxy=proxy,
            trust_env=False,
            read_bufsize=MAX_BODY_BYTES,
        )

    def start(self, request: Request, done: Done) -> None:
        """Post the request; see Transport."""
        if self._session.closed:
            raise RuntimeError("the transport is closed")
        task = asyncio.create_task(self._send(request))
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, done))

    async def close(self) -> None:
        """Break off the requests under way and close every connection."""
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()
        await self._resolver.close()

    def _end(self, done: Done, task: asyncio.Task[Result]) -> None:
        if task not in self._tasks:
            return  # the transport was closed
        self._tasks.remove(task)
        if task.cancelled():
            return  # the event loop ends
        if (error := task.exception()) is not None:
            _log.error("a request cannot be posted", exc_info=error)
        try:
            done(Result("connect_error", error="svc-pg itself failed; see its log") if error else task.result())
        except Exception:  # noqa: BLE001 - a bug of others must not harm the transport
            _log.exception("a result was lost")

    async def _send(self, request: Request) -> Result:
        timeout = request.destination.timeout
        async with self._slots:
            attempt = Attempt(request.destination.url_by)
            token = current.set(attempt)
            # a pooled connection may go where only an operator's URLs may lead; behind a proxy none goes anywhere else
            only_new.set(attempt.url_by == "customer" and not self._has_proxy)
            started = time.monotonic()
            try:
                async with asyncio.timeout(timeout.total_seconds()):
                    await self._post(request, attempt)
                outcome, error = judgement(attempt.status or 0)
            except _FAILURES as exc:
                outcome, error = await self._failure(exc, request, attempt)
            finally:
                current.reset(token)
            body, truncated = kept_body(attempt.body)
            return Result(
                outcome=outcome,
                status=attempt.status,
                duration_ms=round((time.monotonic() - started) * 1000),
                remote_ip=self._remote_ip(attempt),
                retry_after=attempt.retry_after,
                headers=attempt.headers,
                body=body,
                truncated=truncated,
                repeated=attempt.is_repeated,
                error=error,
            )

    async def _post(self, request: Request, attempt: Attempt) -> None:
        try:
            return await self._exchange(request, attempt)
        except aiohttp.ClientConnectionError:
            # The receiver may close an idle connection just when it is used again. That is nobody's failure, and
            # posting once more is safe: receivers know a delivery by its id.
            if not attempt.is_pooled or attempt.status is not None:
                raise
        attempt.is_pooled, attempt.is_connected, attempt.is_repeated = None, False, True
        token = only_new.set(True)
        try:
            await self._exchange(request, attempt)
        finally:
            only_new.reset(token)

    async def _exchange(self, request: Request, attempt: Attempt) -> None:
        destination = request.destination
        url = self._url(destination.url, destination.url_by)
        check_headers(request.headers)
        headers = CIMultiDict(destination.headers)
        headers.update(request.headers)
        response = await self._session.post(
            url,
            ssl=self._contexts.of(destination.tls),
            data=aiohttp.BytesPayload(request.body),  # otherwise aiohttp searches for a class that writes bytes
            headers=headers,
            allow_redirects=False,
            timeout=_connect_timeout(destination.connect_timeout),
        )
        try:
            if response.status == _NO_CREDENTIALS and self._is_of_proxy(url, destination):
                raise aiohttp.ClientHttpProxyError(response.request_info, (), status=response.status)
            attempt.status = response.status
            attempt.headers = kept_headers(response.raw_headers)
            if retry_after := response.headers.get("Retry-After"):
                attempt.retry_after = parse_retry_after(retry_after)
            while len(attempt.body) <= MAX_BODY_BYTES and (chunk := await response.content.readany()):
                attempt.body += chunk
        finally:
            response.close()  # if it was read to its end, the connection is back in the pool and stays open

    async def _failure(self, exc: Exception, request: Request, attempt: Attempt) -> tuple[Outcome, str]:
        fault = local_fault(attempt.refused or exc)
        if fault is None and attempt.remote_ip is None and (is_no_answer(exc) or isinstance(exc, TimeoutError)):
            fault = await self._probe.fault()
        if fault is None and self._has_proxy:
            fault = proxy_fault(exc, is_reached=attempt.is_connected)
        if fault is None:
            return failure(exc, request.destination, attempt)
        self._connector.close_idle()
        return "local_error", fault

    def _is_of_proxy(self, url: URL, destination: Destination) -> bool:
        """True if a response may be the proxy's own: not through a tunnel, nor of a receiver that would feign one."""
        return self._has_proxy and url.scheme == "http" and destination.url_by == "operator"

    def _checked_url(self, url: str, url_by: UrlBy) -> URL:
        return URL(self._guard.given_by(url_by).check_url(url), encoded=True)  # otherwise aiohttp rewrites its escapes

    def _remote_ip(self, attempt: Attempt) -> str | None:
        if self._has_proxy or attempt.remote_ip is None:
            return None  # the address behind a proxy is unknown
        return attempt.remote_ip.partition("%")[0]  # inet knows no zones

    def _open_socket(self, addr_info: AddrInfoType) -> socket:
        attempt = current.get()
        attempt.is_pooled = False
        attempt.remote_ip = addr_info[4][0]
        try:  # the operator's proxy may have any address
            guard = self._guard.given_by(attempt.url_by)
            made = socket(*addr_info[:3]) if self._has_proxy else guard.socket_factory(addr_info)
        except BlockedAddress as error:  # noted, because aiohttp merges the errors of several addresses into one
            attempt.blocked = error
            raise
        except OSError as error:
            attempt.refused = error
            raise
        made.setsockopt(SOL_SOCKET, SO_RCVBUF, MAX_BODY_BYTES)  # so that a flood costs little until it is cut off
        return made


@lru_cache(maxsize=16)
def _connect_timeout(limit: timedelta) -> aiohttp.ClientTimeout:
    """A limit without a total: the caller's deadline covers the body too, and cannot be mistaken for a cancellation."""
    return aiohttp.ClientTimeout(total=None, connect=limit.total_seconds())
