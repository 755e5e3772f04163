"""A trace goes on from the transaction that sends an event to the receiver of the POST."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from svc_pg import webhooks
from svc_pg.webhooks.tracing import current_traceparent
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.queue import postpone
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class OwnProvider(trace.TracerProvider):
    """The only provider that a process can have: that of these cases, and beside them as if there was none."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.is_on = False
        self._recording, self._none = TracerProvider(), trace.NoOpTracerProvider()
        self._recording.add_span_processor(SimpleSpanProcessor(self.exporter))

    def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
        return (self._recording if self.is_on else self._none).get_tracer(*args, **options)


@pytest.fixture(scope="session")  # a process may take the module's cases in two parts, with others between them
def provider() -> OwnProvider:
    provider = OwnProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def spans(provider: OwnProvider) -> Iterator[InMemorySpanExporter]:
    provider.exporter.clear()
    provider.is_on = True
    yield provider.exporter
    provider.is_on = False
    provider.exporter.clear()


def posts(exporter: InMemorySpanExporter, number: int) -> list[ReadableSpan]:
    def found() -> list[ReadableSpan]:
        return [span for span in exporter.get_finished_spans() if span.kind == SpanKind.CLIENT]

    wait_until(lambda: len(found()) == number, f"{number} attempts have ended")
    return found()


def traceparent(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_each_attempt_is_a_client_span_under_the_senders_and_the_receiver_is_told(
    database: str, spans: InMemorySpanExporter
) -> None:
    with receiving(lambda number: 503 if number == 1 else 204) as receiver:
        endpoint(database, CONFIG, receiver.url + "?token=secret")
        with working(database, hooks_config("order.created")):
            with (
                trace.get_tracer("shop").start_as_current_span("place order") as order,
                psycopg.connect(database) as conn,
            ):
                webhooks.send(conn, "order.created", {"id": 7})
            [failed] = posts(spans, 1)
            with psycopg.connect(database) as conn:  # a 503 would wait a minute
                wait_until(lambda: rows(database, "webhook_delivery_attempts"), "the attempt is acknowledged")
                postpone(conn, timedelta(0))
                conn.execute("select svc.webhook_notify()")
            failed, succeeded = posts(spans, 2)
    context = order.get_span_context()
    for span, request in zip((failed, succeeded), receiver.requests, strict=True):
        assert span.name == "POST"
        assert span.parent is not None
        assert (span.parent.trace_id, span.parent.span_id) == (context.trace_id, context.span_id)
        assert span.context is not None
        assert request.headers["traceparent"] == traceparent(span.context)
    port = int(receiver.url.split(":")[2].partition("/")[0])
    common = {
        "http.request.method": "POST",
        "server.address": "127.0.0.1",
        "server.port": port,
        "url.full": f"http://127.0.0.1:{port}/REDACTED",
        "network.peer.address": "127.0.0.1",
    }
    assert dict(failed.attributes or {}) == common | {"http.response.status_code": 503, "error.type": "503"}
    assert dict(succeeded.attributes or {}) == common | {
        "http.response.status_code": 204,
        "http.request.resend_count": 1,
    }
    assert (failed.status.status_code, succeeded.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)


def test_an_attempt_without_a_response_says_why(database: str, spans: InMemorySpanExporter) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
    with working(database, CONFIG):
        with psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {})
        span = wait_until(lambda: spans.get_finished_spans()[:1])[0]
    assert span.parent is None
    assert span.attributes is not None
    assert span.attributes["error.type"] == "connect_error"
    assert "cannot connect to 127.0.0.1" in str(span.status.description)


@pytest.mark.parametrize("stored", ["", "garbage", "00-0-0-00", "\r\nx: y", f"{TRACEPARENT}\r\nx: y"])
def test_a_stored_context_that_is_none_changes_nothing(database: str, spans: InMemorySpanExporter, stored: str) -> None:
    with receiving() as receiver:
        endpoint(database, CONFIG, receiver.url)
        with psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {})
            conn.execute("update svc.webhook_messages set trace_context = %s", [stored])
        with working(database, CONFIG):
            [request] = receiver.wait_for(1)
            [span] = posts(spans, 1)
    assert span.parent is None
    assert "x" not in request.headers


def test_there_is_no_context_without_a_span(spans: InMemorySpanExporter) -> None:
    assert current_traceparent() is None
    with trace.get_tracer("shop").start_as_current_span("place order") as span:
        assert current_traceparent() == traceparent(span.get_span_context())
    assert len(spans.get_finished_spans()) == 1


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from svc_pg.webhooks import tracing
from svc_pg.webhooks.http.transport import Destination, Request, Result

class Transport:
    def start(self, request, done):
        print(request.headers.get("traceparent"))
        done(Result("success"))

assert tracing.current_traceparent() is None
for context in sys.argv[1], "garbage", None:
    results = []
    request = Request(Destination("https://a"), b"")
    tracing.start(Transport(), request, results.append, trace_context=context, attempt=1)
    assert results == [Result("success")]
"""


def test_without_opentelemetry_the_senders_context_goes_on_as_it_is() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT, TRACEPARENT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [TRACEPARENT, "None", "None"]


def test_sending_does_not_load_opentelemetry() -> None:
    modules = "svc_pg.webhooks.events.sending, svc_pg.webhooks.worker"
    program = f"import sys, {modules}; print('opentelemetry.trace' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
