"""The list of entries in the admin: pages by key, and no count of the log."""

from typing import Any, Final

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import DataError, models
from django.http import HttpRequest

from svc_pg.audit.log import numbers
from svc_pg.integrations.django.bounds import LogIsSlow, bounded
from svc_pg.integrations.django.read_recording import reading_in_admin, record_entries
from svc_pg.integrations.django.records import names_of

AFTER: Final = "after"
"""The parameter with the id of the entry before a page."""

# Read in full by the page of one entry only, and there up to a limit: each may have megabytes
LARGE: Final = ("before_data", "after_data", "context")


class EntryList(ChangeList):
    """Entries, newest first. ``older`` leads to the next page, and ``newest`` to the first, if there is one."""

    older: str | None = None
    newest: str | None = None
    is_slow = False
    """True if the database did not find the entries in time."""

    def get_queryset(self, request: HttpRequest, *args: Any, **kwargs: Any) -> models.QuerySet[Any]:
        """The entries that pass the filters; the cursor is no filter, and no link keeps it."""
        for params in (self.params, getattr(self, "filter_params", {})):
            params.pop(AFTER, None)
        return super().get_queryset(request, *args, **kwargs)

    def get_results(self, request: HttpRequest) -> None:
        """Read a page, and no more than one entry of the next."""
        with reading_in_admin(request, "entries"):
            found = self._read(_beyond(self.queryset, request.GET.get(AFTER)))
        page = found[: self.list_per_page]
        if len(found) > len(page):
            self.older = self.get_query_string({AFTER: page[-1].pk})
        if AFTER in request.GET:
            self.newest = self.get_query_string()
        names = names_of({entry.actor_id for entry in page if entry.actor_id})
        for entry in page:
            entry.actor = names.get(entry.actor_id, entry.actor_id)
        self.result_list = page
        self.result_count = len(page)
        self.full_result_count = len(page)  # as many as are shown, so that no count is
        self.show_full_result_count = False
        self.show_admin_actions = False
        self.can_show_all = False
        self.multi_page = False
        self.paginator = Paginator(page, self.list_per_page)

    def _read(self, queryset: models.QuerySet[Any]) -> list[Any]:
        entries = queryset.order_by("-timestamp", "-id").defer(*LARGE)[: self.list_per_page + 1]
        try:
            with bounded(entries.db):
                found = list(entries)
                record_entries(found[: self.list_per_page], using=entries.db)
                return found
        except (DataError, ValueError) as error:
            raise IncorrectLookupParameters(error) from error
        except LogIsSlow:
            self.is_slow = True
            return []


def _beyond(entries: models.QuerySet[Any], cursor: str | None) -> models.QuerySet[Any]:
    """The entries after the one with this id; the condition on ``timestamp__lte`` is there to prune partitions.

    The database compares its own times: those of Django may have no zone.
    """
    if cursor is None:
        return entries
    if not is_id(cursor):
        raise IncorrectLookupParameters(cursor)
    last = models.Subquery(entries.model._default_manager.filter(pk=int(cursor)).order_by().values("timestamp")[:1])
    beyond = models.Q(timestamp__lt=last) | models.Q(pk__lt=int(cursor))
    return entries.filter(timestamp__lte=last).filter(beyond)


def is_id(text: str) -> bool:
    """True if an entry may have this id."""
    return numbers.bigint(text) is not None
