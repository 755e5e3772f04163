"""The looks for what a text may mean: each is bounded, and gives what the session may see and do."""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

import psycopg

from svc_pg.audit.read.named_records import named, split_name
from svc_pg.audit.read.tables import query as tables
from svc_pg.config import AuditConfig
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.built_in.audit_filters import visible
from svc_pg.console.built_in.audit_lookup import visible_entry
from svc_pg.console.built_in.suggested_endpoints import LOOKED_AT, SuggestedEndpoint, events_of, suggested_endpoints
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import permits
from svc_pg.console.http.tokens import Session
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.console.sign_in.tenant_table import MOST_LOOKED_AT, Tenant
from svc_pg.console.views import named_views
from svc_pg.console.views.named_views import owner_of
from svc_pg.console.views.suggestions import Command, Suggestion, SuggestionKind, cut, exported, page
from svc_pg.database.query import afetch_one
from svc_pg.status.webhooks_installed import webhooks_installed

SHOWN: Final = 6
"""The most of one kind."""
_MOST_TABLES: Final = 500
_MOST_PROBED: Final = 12
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_NO_TENANTS: Final = (
    *(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.UndefinedFunction),
    *(psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege, psycopg.errors.WrongObjectType),
)
"""Errors of a table of tenants, or a view, that is not there or not open to the console's role."""
_VERBS: Final = {"pause": ("Pause", "active"), "resume": ("Resume", "paused"), "test": ("Test", "active")}


@dataclass(slots=True)
class SuggestionLooks:
    """The looks of one call; what they left out goes into its remarks."""

    database: Database
    log: ConsoleLog
    config: AuditConfig
    tenants: KnownTenants
    session: Session
    remarks: list[str]
    has_webhooks: bool | None = None
    """None until it is asked."""

    def all_of(self, text: str, kind: SuggestionKind | None = None) -> list[AsyncIterator[Suggestion]]:
        """Every look for a text that may find this kind, the surest first."""
        looks: Sequence[tuple[Callable[[str], AsyncIterator[Suggestion]], Sequence[SuggestionKind]]] = (
            (self._records, ("record", "table", "action")),
            (self._entries, ("entry", "transaction")),
            (self._actors, ("actor",)),
            (self._endpoints, ("endpoint", "action")),
            (self._tenants, ("tenant", "action")),
            (self._events, ("event_type",)),
            (self._views, ("view",)),
            (self._searches, ("page", "request")),
        )
        return [look(text) for look, kinds in looks if kind is None or kind in kinds]

    def _may_change(self) -> bool:
        return permits(self.session.permissions, "write") and not self.database.is_read_only

    def _may_let_in(self) -> bool:
        is_admin = self.session.tenant is None and permits(self.session.permissions, "admin")
        return is_admin and not self.database.is_read_only

    async def done(self, given: Command, here: str) -> AsyncIterator[Suggestion]:
        """The actions that a command means, as far as the session may do them."""
        match given.verb:
            case "pause" | "resume" | "test":
                if self._may_change():
                    word, status = _VERBS[given.verb]
                    for each in await self._matching(given.rest):
                        if each.status == status:
                            yield _action(f"{word} {each.name}", each.url, page("endpoints", each.id))
            case "portal":
                if self._may_let_in() and await self._has_webhooks():
                    for tenant in await self._called(given.rest):
                        yield _action(f"Portal link for {tenant.name}", tenant.id, page("tenants", tenant.id))
            case "export":
                shown = exported(here)
                if shown and permits(self.session.permissions, "write"):
                    yield _action(f"Export {shown[0]}", "choose a file there", shown[1])
            case "through time":
                async for found in self._records(given.rest):
                    if found.kind == "action":
                        yield found
            case _:
                assert_never(given.verb)

    async def _records(self, text: str) -> AsyncIterator[Suggestion]:
        if not text:
            return
        names = await self._tables(text)
        typed = split_name(text)
        surely = [name for some in named(names, typed[0]) for name in some] if typed else []
        wanted, key = (surely, typed[1]) if typed and surely else (names, text)
        wanted = [name for name in wanted if surely or not name.startswith("svc.")]
        for name in wanted[:_MOST_PROBED]:
            query = visible(self.session).resource(name).record(key).only("id").limit(1)
            if (await self.log.page(query)).data:
                label = f"{name.removeprefix('public.')} {key}"
                yield Suggestion("record", cut(label), "its history", page("audit", "records", name, key))
                if self.log.has_past:
                    address = page("audit", "records", name, key, "tracks")
                    yield _action(f"See {label} through time", "field by field", address)
        if len(wanted) > _MOST_PROBED:
            self.remarks.append(
                f"The key was looked for in {_MOST_PROBED} of {len(wanted)} tables; type one before it."
            )
        letters = text.casefold()
        for name in [each for each in names if letters in each.casefold()][:SHOWN]:
            yield Suggestion("table", cut(name), "all of its changes", page("audit", resource=name))

    async def _tables(self, text: str) -> list[str]:
        """Audited tables; of a session of one tenant those with its entries whose names begin the text."""
        if self.session.tenant is None:
            listed = await self.log.tables(tables(self.config).limit(_MOST_TABLES))
            return [each.name for each in listed]
        word = text.split(maxsplit=1)[0][:-1] or text
        return list((await self.log.values(visible(self.session), "resource", word)).values)

    async def _entries(self, text: str) -> AsyncIterator[Suggestion]:
        if not _NUMBER.fullmatch(text):
            return
        entry = await visible_entry(self.log, self.session, text)
        about = " ".join(part for part in (entry.operation, entry.table_name, entry.record_id) if part)
        yield Suggestion("entry", f"Entry {entry.id}", cut(about), page("audit", "entries", entry.id))
        if entry.xact_id is not None:
            address = page("audit", "transactions", entry.xact_id)
            yield Suggestion("transaction", f"Transaction {entry.xact_id}", f"of entry {entry.id}", address)

    async def _actors(self, text: str) -> AsyncIterator[Suggestion]:
        known = await self.log.values(visible(self.session), "actor", text)
        for name in known.values[:SHOWN]:
            yield Suggestion("actor", cut(name), "all changes of theirs", page("audit", actor=name))
        if known.looked_at != "log":
            self.remarks.append("Not all actors were looked at.")

    async def _endpoints(self, text: str) -> AsyncIterator[Suggestion]:
        for each in await self._matching(text):
            yield Suggestion("endpoint", cut(each.name), cut(f"{each.status}, {each.url}"), page("endpoints", each.id))
            word = {"active": "Pause", "paused": "Resume"}.get(each.status)
            if word and self._may_change():
                yield _action(f"{word} {each.name}", "asks on its page", page("endpoints", each.id))

    async def _matching(self, text: str) -> Sequence[SuggestedEndpoint]:
        if not await self._has_webhooks():
            return []
        async with self.database.connection() as conn:
            found, looked_at = await suggested_endpoints(conn, text, tenant=self.session.tenant, shown=SHOWN)
        self._remark("endpoints", len(found), f"the newest {LOOKED_AT:,}" if looked_at == LOOKED_AT else "")
        return found

    async def _tenants(self, text: str) -> AsyncIterator[Suggestion]:
        for tenant in await self._called(text):
            yield Suggestion("tenant", cut(tenant.name), cut(tenant.id), page("tenants", tenant.id))
            if self._may_let_in() and await self._has_webhooks():
                yield _action(f"Portal link for {tenant.name}", tenant.id, page("tenants", tenant.id))

    async def _called(self, text: str) -> Sequence[Tenant]:
        table = self.tenants.table
        if table is None or self.session.tenant is not None or not text:
            return []
        try:
            async with self.database.connection() as conn:
                found, looked_at = await table.looked_through(conn, text, shown=SHOWN)
        except _NO_TENANTS:
            return []
        self._remark("tenants", len(found), f"the first {MOST_LOOKED_AT:,}" if looked_at == MOST_LOOKED_AT else "")
        return found

    def _remark(self, things: str, found: int, bound: str) -> None:
        """Say that there may be more than those found, and the bound of the look if it was reached."""
        if bound:
            self.remarks.append(f"Of the {things} {bound} were looked at.")
        if found == SHOWN:
            self.remarks.append(f"There may be more {things} than these {SHOWN}.")

    async def _events(self, text: str) -> AsyncIterator[Suggestion]:
        if not await self._has_webhooks():
            return
        async with self.database.connection() as conn:
            events = await events_of(conn, text, shown=SHOWN)
        for event in events:
            yield Suggestion("event_type", event.name, cut(event.description), page("events", event.name))

    async def _views(self, text: str) -> AsyncIterator[Suggestion]:
        if self.session.tenant is not None:
            return
        wanted = named_views.query().visible(owner_of(self.session)).text(text).limit(SHOWN)
        async with self.database.connection() as conn:
            found = await wanted.alist(conn)
        for view in found:
            yield Suggestion("view", view.name, cut(view.question), page(view.of, q=view.question))

    async def _searches(self, text: str) -> AsyncIterator[Suggestion]:
        """Searches of the log, which are not made here: they look at very many entries."""
        if self.log.has_past and self.session.tenant is None:
            yield Suggestion("page", f"Changes with “{cut(text)}”", "search in values", page("audit", text=text))
            about = "search in ids of requests and addresses"
            yield Suggestion("request", f"Requests with “{cut(text)}”", about, page("audit", context=text))

    async def _has_webhooks(self) -> bool:
        if self.has_webhooks is None:
            async with self.database.connection() as conn:
                self.has_webhooks = await afetch_one(conn, webhooks_installed())
        return self.has_webhooks


def _action(label: str, about: str, address: str) -> Suggestion:
    kind: SuggestionKind = "action"
    return Suggestion(kind, cut(label), cut(about), address)
