"""The outcome and error of a request that failed, and the faults of the egress proxy, for which no receiver pays."""

import os
import ssl
from typing import Final

import aiohttp

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http import hang_ups
from svc_pg.webhooks.http.aiohttp_attempt import Attempt
from svc_pg.webhooks.http.contexts import UnusableTls
from svc_pg.webhooks.http.transport import Destination, Outcome

_HANG_UPS: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)  # to connect raises others


def failure(exc: Exception, destination: Destination, attempt: Attempt) -> tuple[Outcome, str]:
    """The outcome and error of an exception of aiohttp."""
    blocked, timeout, connect_timeout = attempt.blocked, destination.timeout, destination.connect_timeout
    is_tls = destination.url.lower().startswith("https:")
    match exc:
        case aiohttp.ConnectionTimeoutError():
            return "timeout", f"no connection within {connect_timeout.total_seconds():g} s"
        case TimeoutError():
            return "timeout", f"no complete response within {timeout.total_seconds():g} s"
        case UnusableTls():
            return "tls_error", str(exc)
        case EndpointError():
            return "blocked", exc.message
        case aiohttp.ClientHttpProxyError():
            return "connect_error", f"the proxy answered {exc.status}"
        case aiohttp.ClientConnectorDNSError():
            return "dns_error", f"cannot resolve {exc.host}: {exc.strerror}"
        case aiohttp.ClientSSLError():
            return "tls_error", f"no TLS connection to {exc.host}: {exc.strerror}"
        case aiohttp.ClientConnectorError() if blocked:
            return "blocked", str(blocked.strerror)
        case aiohttp.ClientConnectorError() if is_tls and isinstance(exc.os_error, _HANG_UPS):
            return "tls_error", hang_ups.in_handshake(exc.host, destination.tls)
        case aiohttp.ClientConnectorError():
            return "connect_error", f"cannot connect to {exc.host}: {_reason(exc)}"
        case aiohttp.ClientOSError() if isinstance(exc.__cause__, ssl.SSLError):  # such as a refused client certificate
            return "tls_error", f"the receiver ended the TLS connection: {exc.__cause__.strerror}"
        case aiohttp.ClientConnectionError() if is_tls and attempt.is_connected and attempt.status is None:
            return "connect_error", hang_ups.without_answer(destination.tls)
        case aiohttp.ClientConnectionError() | aiohttp.ClientPayloadError() | OSError():
            return "connect_error", hang_ups.LOST
    return "http_error", "the response is not HTTP, or its headers are too many or too large"


def proxy_fault(exc: Exception, *, is_reached: bool) -> str | None:
    """The fault of the egress proxy that an exception of aiohttp tells of; None if it may be the receiver's."""
    match exc:
        case aiohttp.ClientHttpProxyError(status=407):  # our credentials
            return "the proxy answered 407"
        case aiohttp.ClientProxyConnectionError():
            return f"cannot connect to the proxy: {_reason(exc)}"
        case aiohttp.ClientConnectorDNSError():
            return f"cannot resolve the proxy: {exc.strerror}"
        case TimeoutError() if not is_reached:
            return "cannot connect to the proxy: it does not answer"
    return None


def _reason(exc: aiohttp.ClientConnectorError) -> str:
    return os.strerror(exc.errno) if exc.errno else "none of its addresses accepts"
