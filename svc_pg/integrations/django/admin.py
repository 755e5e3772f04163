"""The audit log in Django's admin: the entries, and the history of each object. Both only read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.functions import Cast, Left
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode

from svc_pg.audit.log.record_ids import record_id
from svc_pg.audit.read.last_changes import change_of
from svc_pg.formats.unseen import seen_json
from svc_pg.integrations.django import records
from svc_pg.integrations.django.bounds import LogIsSlow, bounded
from svc_pg.integrations.django.entry_list import AFTER, LARGE, EntryList, is_id
from svc_pg.integrations.django.filters import OperationFilter, SeverityFilter, TableFilter
from svc_pg.integrations.django.models import Entry
from svc_pg.integrations.django.read_recording import reading_in_admin, record_entries
from svc_pg.integrations.django.texts import named, theirs

if TYPE_CHECKING:
    _EntryAdmin = admin.ModelAdmin[Entry]
    _AnyAdmin = admin.ModelAdmin[Any]
else:  # Django's classes take no parameters
    _EntryAdmin = admin.ModelAdmin
    _AnyAdmin = object

HISTORY: Final = 50
"""The most changes in the history of an object; the list of entries has the others."""
_MAX_CHARACTERS: Final = 64 * 1024
_FIELDS: Final = (
    "timestamp",
    "operation",
    "record",
    "part",
    "who",
    "tenant",
    "db_user",
    "db_role",
    "words",
    "severity",
    "tags",
    "reason",
    "changes",
    "before",
    "after",
    "facts",
    "transaction",
)


class AuditHistoryMixin(_AnyAdmin):
    """Shows the audit log in the history of a model's objects: ``class CustomerAdmin(AuditHistoryMixin, ModelAdmin)``.

    Users who may not view audit entries see Django's own history. ``audited_table`` names the table, if it is not in
    the schema public.
    """

    audited_table: str | None = None
    audit_history_template = "svc_pg/object_history.html"

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Django's view decides who may see the object, and shows the actions of the admin below the changes."""
        response = super().history_view(request, object_id, extra_context)
        user: Any = request.user
        if not isinstance(response, TemplateResponse) or not user.has_perm("svc_pg.view_entry"):
            return response
        context: Any = response.context_data
        record = context["object"]
        using = record._state.db
        table = self.audited_table or records.table_of(record, using=using)
        try:
            with reading_in_admin(request, "history"), bounded(using):
                context["changes"] = records.changes(table, record.pk, limit=HISTORY, using=using)
        except LogIsSlow:
            context["is_slow"] = True
        context["all_entries"] = _entries_url(self.admin_site, table_name=table, record_id=record_id(record.pk))
        response.template_name = self.audit_history_template
        return response


@admin.register(Entry)
class EntryAdmin(_EntryAdmin):
    """The entries, newest first, for staff with the permission ``svc_pg.view_entry``."""

    list_display = ("timestamp", "what", "record", "who", "severity")
    list_filter = (TableFilter, OperationFilter, SeverityFilter, ("timestamp", admin.DateFieldListFilter))
    search_fields = ("actor_id",)
    search_help_text = "The whole id of an actor"
    ordering = ("-timestamp", "-id")
    sortable_by = ()
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    actions = None
    fields = readonly_fields = _FIELDS
    change_list_template = "svc_pg/entry_list.html"
    if hasattr(admin, "ShowFacets"):
        show_facets = admin.ShowFacets.NEVER  # each would count

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Entries cannot be added here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Entry | None = None) -> bool:
        """Entries cannot be changed."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Entry | None = None) -> bool:
        """Entries cannot be deleted."""
        return False

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Refuse filters in the address that no index serves."""
        return lookup in ("table_name", "record_id", "actor_id", "xact_id", "operation", "severity", AFTER) or (
            lookup.startswith("timestamp__")
        )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list without counts."""
        return EntryList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with the title of the log."""
        return super().changelist_view(request, {"title": "Audit log", **(extra_context or {})})

    def get_search_results(
        self,
        request: HttpRequest,
        queryset: models.QuerySet[Any],
        search_term: str,
    ) -> tuple[models.QuerySet[Any], bool]:
        """Search by actor."""
        return (queryset.filter(actor_id=search_term) if search_term else queryset), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Entry | None:
        """An entry, with the beginning of its large values as texts."""
        if not is_id(object_id):
            return None
        texts = {f"{name}_text": Left(Cast(name, models.TextField()), _MAX_CHARACTERS) for name in LARGE}
        entries = self.get_queryset(request).defer(*LARGE).annotate(**texts).order_by()
        if from_field is not None:
            return None
        with reading_in_admin(request, "entry"), bounded(entries.db):
            found = list(entries.filter(pk=int(object_id))[:1])
            record_entries(found, using=entries.db)
        return found[0] if found else None

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the entries of the record, because an entry itself has no history."""
        entry = self.get_object(request, unquote(object_id))
        if entry is None or not self.has_view_permission(request, entry):
            return super().history_view(request, object_id, extra_context)
        return HttpResponseRedirect(_entries_url(self.admin_site, **_of_record(entry)) or "..")

    @admin.display(description="change")
    def what(self, entry: Entry) -> str:
        """The operation, and the fields that it changed or the rule's words for it."""
        words = entry.description or entry.label or ", ".join(entry.changed_fields or ())
        return format_html("{} {}", entry.operation, theirs(words[:200])) if words else entry.operation

    @admin.display(description="record")
    def record(self, entry: Entry) -> str:
        """The table and key, with a link to all entries of the record."""
        if entry.record_id is None:
            return theirs(entry.table_name)
        text = format_html("{} {}", theirs(entry.table_name), theirs(entry.record_id))
        return self._link(text, _of_record(entry))

    @admin.display(description="partition")
    def part(self, entry: Entry) -> str:
        """The partition that held the row."""
        return theirs(entry.partition or "") or "-"

    @admin.display(description="actor")
    def who(self, entry: Entry) -> str:
        """The actor, with a link to all its entries; without an actor, the user of the database."""
        if entry.actor_id is None:
            return format_html("{} (a user of the database)", theirs(entry.db_user)) if entry.db_user else "-"
        name = getattr(entry, "actor", None) or records.names_of({entry.actor_id}).get(entry.actor_id, entry.actor_id)
        return self._link(named(name), {"actor_id": entry.actor_id})

    @admin.display(description="tenant")
    def tenant(self, entry: Entry) -> str:
        """The tenant."""
        return theirs(entry.tenant_id or "") or "-"

    @admin.display(description="label")
    def words(self, entry: Entry) -> str:
        """The rule's label."""
        return theirs(entry.label or "") or "-"

    @admin.display(description="compliance")
    def tags(self, entry: Entry) -> str:
        """The rule's tags."""
        return format_html_join(", ", "{}", ((theirs(tag),) for tag in entry.compliance or ())) or "-"

    @admin.display(description="description")
    def reason(self, entry: Entry) -> str:
        """The rule's description."""
        return theirs(entry.description or "") or "-"

    @admin.display(description="changed fields")
    def changes(self, entry: Entry) -> str:
        """Old and new values."""
        using = entry._state.db or DEFAULT_DB_ALIAS
        try:
            with bounded(using):
                found = change_of(connections[using], entry.pk)
        except LogIsSlow:
            return "The database took too long."
        return render_to_string("svc_pg/changed_fields.html", {"change": found}) or "-"

    @admin.display(description="before")
    def before(self, entry: Entry) -> str:
        """The row before the change, up to 64 KiB of it."""
        return _json(entry, "before_data_text")

    @admin.display(description="after")
    def after(self, entry: Entry) -> str:
        """The row after the change, up to 64 KiB of it."""
        return _json(entry, "after_data_text")

    @admin.display(description="context")
    def facts(self, entry: Entry) -> str:
        """The application's facts about the request."""
        return _json(entry, "context_text")

    @admin.display(description="transaction")
    def transaction(self, entry: Entry) -> str:
        """The transaction, with a link to all its changes."""
        return "-" if entry.xact_id is None else self._link(str(entry.xact_id), {"xact_id": str(entry.xact_id)})

    def _link(self, text: str, wanted: Mapping[str, str]) -> str:
        address = _entries_url(self.admin_site, **wanted)
        return format_html('<a href="{}">{}</a>', address, text) if address else text


def _json(entry: Entry, name: str) -> str:
    return theirs(seen_json(getattr(entry, name, None) or "")) or "-"


def _of_record(entry: Entry) -> dict[str, str]:
    """The filters for the entries of the same record, or of the same table if it has no key."""
    key = {} if entry.record_id is None else {"record_id": str(entry.record_id)}
    return {"table_name": str(entry.table_name), **key}


def _entries_url(site: admin.AdminSite, **wanted: str) -> str | None:
    """The list of these entries, if this site has one."""
    try:
        address = reverse("admin:svc_pg_entry_changelist", current_app=site.name)
    except NoReverseMatch:
        return None
    return f"{address}?{urlencode(wanted)}"
