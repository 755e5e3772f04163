"""Record who reads records of marked tables in the console, before the answer goes out."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from typing import Any, Final, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import tuple_row

from svc_pg.audit.reads.reading import collected, collecting, may_tell_of_somebody, of_entries
from svc_pg.audit.reads.recording import MARKED, Marks, adding, marks_of, tell_unrecorded
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.database.pool import actor_of, execute_last
from svc_pg.console.http.calling import call
from svc_pg.console.http.concurrently import meanwhile
from svc_pg.console.http.products import Product, ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleResponse, Problem, sentences, unavailable
from svc_pg.console.http.responses import Encoder
from svc_pg.errors import ReadNotRecordedError

MARKS_SECONDS: Final = 15
_UNSAID: Final = frozenset({"contains", "text", "context", "record", "cursor", "before", "after", "q", "where"})
"""The parameters whose values may be those of a person, or are long."""
_NAMES_RECORDS: Final = 409
"""The status of a refusal to take changes back, which names their records."""

Found = TypeVar("Found", bound=Iterable[Any])

Connect = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]

logger = logging.getLogger("svc_pg.console")


class KnownMarks:
    """The tables whose reads are recorded, as the database last told: an install changes them."""

    def __init__(self) -> None:
        self._marks: Marks = {}
        self._until = 0.0

    @property
    def may_be_some(self) -> bool:
        """False if the database had none when it was last asked."""
        return not self._until or bool(self._marks)

    async def of(self, connect: Connect) -> Marks:
        """The marks, at most 15 seconds old, read by a connection that is free for the caller."""
        if time.monotonic() >= self._until:
            async with connect() as conn:
                self._marks = marks_of(await (await conn.cursor(row_factory=tuple_row).execute(MARKED)).fetchall())
            self._until = time.monotonic() + MARKS_SECONDS
        return self._marks


def noted(entries: Found) -> Found:
    """The same entries, which the answer under way shows."""
    if (reading := collected()) is not None:
        reading.add(of_entries(entries))
    return entries


async def write_reads(
    request: AuthenticatedRequest,
    connect: Connect,
    documents: Sequence[dict[str, object]],
    marks: Marks,
    *,
    may_write: bool,
) -> None:
    """Write the entries of an answer. Raises Problem 503 if that is not possible and some must be written."""
    try:
        if not may_write:
            tell_unrecorded(documents, marks)
            return
        async with connect() as conn:
            wanted = adding(documents, actor_of(request))
            entries = await execute_last(conn, wanted, is_private=may_tell_of_somebody(documents))
        if entries is None:
            tell_unrecorded(documents, marks)
    except ReadNotRecordedError as error:
        raise unavailable("read_not_recorded", sentences(error)) from error


def question_of(request: AuthenticatedRequest, of: str) -> dict[str, object]:
    """The question of a call: its route, the permission of its session, and its filters, without values of searches."""
    filters: dict[str, object] = {
        name: "*" if name in _UNSAID else request.query.getlist(name) for name in request.query
    }
    return {"of": of, "permission": " ".join(request.session.permissions), **filters}


def recording(product: Product, log: ConsoleLog, encoder: Encoder, *, reads_log_alone: bool) -> Product:
    """The product, whose answers go out when it is recorded what they show; they are encoded meanwhile.

    If its routes ``reads_log_alone``, and nothing by other connections, reads and record are one transaction.
    """
    together = log.together if reads_log_alone else nullcontext
    return replace(product, endpoints=[_recording(endpoint, log, encoder, together) for endpoint in product.endpoints])


def _recording(
    endpoint: ProductEndpoint,
    log: ConsoleLog,
    encoder: Encoder,
    together: Callable[[], AbstractAsyncContextManager[None]],
) -> ProductEndpoint:
    if endpoint.method != "GET":
        return endpoint
    handler: Callable[[AuthenticatedRequest], ConsoleResponse | Awaitable[ConsoleResponse]] = endpoint.handler
    of = endpoint.operation_id or endpoint.path

    async def answer(request: AuthenticatedRequest) -> ConsoleResponse:
        if collected() is not None:  # a page, which records all that it shows at once
            return await call(handler, request)
        refusal: Problem | None = None
        async with AsyncExitStack() as encoding, together():  # the connection is given back before all is encoded
            with collecting("api", {}) as reading:
                try:
                    response = await call(handler, request)
                    prepared = await encoding.enter_async_context(meanwhile(encoder.prepared(response)))
                except Problem as problem:
                    refusal = problem
            if not reading.is_empty and (refusal is None or refusal.status == _NAMES_RECORDS):
                reading.question = question_of(request, of)
                await log.record_reads(request, reading)
        if refusal is not None:
            raise refusal
        return prepared.result()

    return replace(endpoint, handler=answer)
