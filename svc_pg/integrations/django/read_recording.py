"""Record who reads records of marked tables in Django's admin, on PostgreSQL."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import connections
from django.http import HttpRequest

from svc_pg.audit.context import Actor, acting_as, current_actor
from svc_pg.audit.reads.reading import of_entries, reading_through
from svc_pg.audit.reads.recording import recorded
from svc_pg.database.performing import run
from svc_pg.errors import AccessError, ReadNotRecordedError


@contextmanager
def reading_in_admin(request: HttpRequest, of: str) -> Iterator[None]:
    """Name the admin as the way in which the block reads, and the user, unless somebody acts already.

    Raises PermissionDenied for a read that must be recorded and cannot be.
    """
    user: Any = request.user
    actor = current_actor() or (None if user.pk is None else Actor(str(user.pk)))
    try:
        with acting_as(actor), reading_through("admin", of=of):
            yield
    except ReadNotRecordedError as error:
        raise PermissionDenied(str(error)) from error


def record_entries(entries: Iterable[Any], *, using: str) -> None:
    """Record that these entries are shown. Raises ReadNotRecordedError, also if the role has no right to do so."""
    if connections[using].vendor != "postgresql":
        return
    try:
        run(connections[using], recorded(of_entries(entries)))
    except AccessError as error:
        raise ReadNotRecordedError(error.message, hint=error.hint) from error
