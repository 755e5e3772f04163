"""Carry a trace from the transaction that sends an event to the POST that delivers it (OpenTelemetry).

This module loads nothing by itself: if there is a span or a tracer, the application has loaded opentelemetry already.
"""

import logging
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from svc_pg import __version__

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from svc_pg.webhooks.http.transport import Done, Request, Result, Transport

_log = logging.getLogger(__name__)

_HEADER: Final = "traceparent"
_TRACEPARENT: Final = re.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def current_traceparent() -> str | None:
    """The W3C ``traceparent`` of the current span; None if there is none."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(_HEADER)


def start(transport: "Transport", request: "Request", done: "Done", *, trace_context: str | None, attempt: int) -> None:
    """Start ``request`` in a CLIENT span that is a child of the sender's, and tell the receiver that span's id.

    The span ends before ``done`` is called. ``trace_context`` is the value of ``current_traceparent`` when the event
    was sent. Without opentelemetry the receiver gets it unchanged.
    """
    if "opentelemetry.trace" not in sys.modules:
        transport.start(_with(request, trace_context), done)
        return
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    parent = TraceContextTextMapPropagator().extract({_HEADER: trace_context or ""}, Context())
    tracer = trace.get_tracer("svc_pg.webhooks", __version__)
    span = tracer.start_span("POST", parent, kind=trace.SpanKind.CLIENT)
    _describe_request(span, request, attempt)

    def ended(result: "Result") -> None:
        try:
            _describe_result(span, result)
            span.end()
        except Exception:  # noqa: BLE001 - a processor or exporter of the application must not lose the result
            _log.exception("a span is lost")
        done(result)

    with trace.use_span(span, record_exception=False):
        transport.start(_with(request, current_traceparent()), ended)


def trace_headers(traceparent: str | None) -> dict[str, str]:
    """The header that tells a receiver the trace; none if there is no valid one."""
    if traceparent is None or not _TRACEPARENT.fullmatch(traceparent):
        return {}
    return {_HEADER: traceparent}


def _with(request: "Request", traceparent: str | None) -> "Request":
    return request._replace(headers={**request.headers, **trace_headers(traceparent)})


# Names and meanings are those of the semantic conventions for HTTP client spans.
def _describe_request(span: "Span", request: "Request", attempt: int) -> None:
    span.set_attribute("http.request.method", "POST")
    with suppress(ValueError):  # the transport reports the error of the URL
        url = urlsplit(request.destination.url)
        span.set_attribute("server.address", url.hostname or "")
        span.set_attribute("server.port", url.port or (80 if url.scheme == "http" else 443))
        # often the path is a secret: knowing it is enough to post
        span.set_attribute("url.full", f"{url.scheme}://{url.netloc.rpartition('@')[2]}/REDACTED")
    if attempt > 1:
        span.set_attribute("http.request.resend_count", attempt - 1)


def _describe_result(span: "Span", result: "Result") -> None:
    from opentelemetry.trace import Status, StatusCode

    if result.status is not None:
        span.set_attribute("http.response.status_code", result.status)
    if result.remote_ip is not None:
        span.set_attribute("network.peer.address", result.remote_ip)
    if result.outcome != "success":
        is_answer = result.outcome == "http_error" and result.status is not None
        span.set_attribute("error.type", str(result.status) if is_answer else result.outcome)
        span.set_status(Status(StatusCode.ERROR, None if is_answer else result.error))
