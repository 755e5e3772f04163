"""One request for a page: its session, its parameters, its form, and the addresses of its answer."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from secrets import token_urlsafe
from typing import Final
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from svc_pg.console.http.products import PERMISSIONS, permits
from svc_pg.console.http.requests import ConsoleRequest, Problem
from svc_pg.console.http.sealing import Sealer
from svc_pg.console.http.tokens import Session
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, SeeOther
from svc_pg.console.pages.api import Api
from svc_pg.console.pages.brand import Brand
from svc_pg.console.pages.cookies import Cookies
from svc_pg.console.pages.navigation import NavItem, grouped
from svc_pg.console.pages.page_addresses import Addresses
from svc_pg.console.pages.record_titles import RecordTitles
from svc_pg.console.pages.refused_forms import RefusedForm, mark_of, wrong_fields
from svc_pg.console.sessions.host_users import HostUsers
from svc_pg.formats.human_times import relative
from svc_pg.settings import Permission

THEMES: Final = ("light", "dark")
ROWS: Final = 50
"""The rows of a list on one page."""
PAGES: Final = ("cursor", "before")
"""The parameters of a list's pages."""
REFUSED: Final = "refused"
"""The parameter of a page to which a form was sent back, as it was refused."""
DONE: Final = "done"
"""The parameter of a page to which a change leads, sealed, with what it did."""
SHOWN_SECONDS: Final = 300
"""The time for which a new secret is shown, to the session that made it."""
_SHOWN: Final = "secret"


async def no_reads(_table: str) -> bool:
    """The answer where there is no log whose reads are recorded."""
    return False


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """A request for a page. ``params`` are the ``:param`` segments of its path.

    ``form`` has the fields that were sent, or, on the page of a form that was refused, those that were typed.
    """

    http: ConsoleRequest
    api: Api
    cookies: Cookies
    sealer: Sealer
    base_path: str
    """The path of the pages, without a slash at its end."""
    brand: Brand | None = None
    """The look of the portal, on its pages."""
    is_log_here: bool = True
    """True if the audit log's transactions are those that deliveries name."""
    has_past: bool = True
    """True if the audit log can be searched, and has states of records, seals and holds."""
    is_read_only: bool = False
    """True if the console refuses all changes."""
    titles: RecordTitles = field(default_factory=RecordTitles)
    """The columns that name the records of a table."""
    users: HostUsers = field(default_factory=HostUsers)
    """The users of the application."""
    has_reads: Callable[[str], Awaitable[bool]] = no_reads
    """True of a table whose reads are recorded."""
    nav_items: Sequence[NavItem] = ()
    """All pages of the navigation; ``navigation`` has those that the person may look at."""
    alarms: Mapping[str, int] = field(default_factory=dict)
    """The number of things that need somebody, by the first segment of the page that has them."""
    session: Session | None = None
    tenant_name: str | None = None
    """The name of the session's tenant, if it is known."""
    params: Mapping[str, str] = field(default_factory=dict)
    form: QueryParams = field(default_factory=QueryParams)
    page: str | None = None
    """The path of the page that has the form which was sent."""
    refusal: Problem | None = None
    """The problem of the form of this page, if it was refused."""
    refused_form: str = ""
    """The mark of the address to which that form was sent."""
    refused_request: str = ""
    """The id of the request that was refused."""
    lost: str = ""
    """A sentence on typed values that could not be kept."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def query(self) -> QueryParams:
        """The query of the address: the filters of a list."""
        return self.http.query

    @property
    def person(self) -> Session:
        """The session, which every page but the sign-in has."""
        if self.session is None:
            raise TypeError("this page is open to all, and has no session")
        return self.session

    @property
    def whose(self) -> str:
        """The person for whom typed values are kept, and nobody else; empty without a session."""
        return "" if self.session is None else self.session.email

    @property
    def theme(self) -> str | None:
        """The theme that was chosen in this browser. The portal is also sent the console's cookie, after its own."""
        given = self.cookies.read_all(self.http, cookies.THEME)[:1]
        return next((theme for theme in given if theme in THEMES), None)

    def may(self, permission: Permission) -> bool:
        """True if the person has this permission or a greater one."""
        return self.session is not None and permits(self.session.permissions, permission)

    def may_change(self, permission: Permission) -> bool:
        """True if the person has this permission, and the console makes changes."""
        return self.may(permission) and not self.is_read_only

    @property
    def may_let_in(self) -> bool:
        """True if the person may make links to the portal: an administrator of all tenants."""
        return self.brand is None and self.may_change("admin") and self.person.tenant is None and self.has("endpoints")

    @property
    def permission(self) -> str:
        """The greatest permission of the person, in words."""
        permission = next(filter(self.may, reversed(PERMISSIONS)), "no permission")
        return f"{permission}, reads only" if self.is_read_only and permission != "read" else permission

    @property
    def navigation(self) -> Sequence[tuple[str, Sequence[NavItem]]]:
        """The pages that this person may look at, below their headings."""
        return grouped(item for item in self.nav_items if self.may(item.permission))

    def has(self, path: str) -> bool:
        """True if the navigation leads this person to the page with this path, for example ``deliveries``."""
        return any(item.path[0] == path and self.may(item.permission) for item in self.nav_items)

    @property
    def has_webhooks(self) -> bool:
        """True if the console offers webhooks."""
        return any(item.product == "webhooks" for item in self.nav_items)

    @property
    def has_audit(self) -> bool:
        """True if the console offers the audit trail."""
        return any(item.product == "audit" for item in self.nav_items)

    @property
    def sees_whole_log(self) -> bool:
        """True if the audit log has its past, and the person sees all of it, not the entries of one tenant alone."""
        return self.has_past and self.person.tenant is None

    @property
    def to(self) -> Addresses:
        """The addresses of pages by their subject."""
        return Addresses(self.url)

    @property
    def names_actors(self) -> bool:
        """True if pages show names of actors: to nobody of one tenant, who may know the ids of others alone."""
        return self.users.actor_names is not None and self.session is not None and self.session.tenant is None

    def relative(self, then: datetime) -> str:
        """A time for people, relative to now."""
        return relative(then, self.now)

    def url(self, *segments: object, query: Mapping[str, str | Sequence[str]] | None = None) -> str:
        """The address of a page, each segment quoted. Empty values of ``query`` are left out."""
        path = "/".join([self.base_path, *(quote(str(segment), safe="") for segment in segments)])
        given = {name: value for name, value in (query or {}).items() if value}
        return f"{path}?{urlencode(given, doseq=True)}" if given else path

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """The choice that the address makes. Raises Problem 422 if it is none of these."""
        given = self.query.get(name) or default
        if given not in choices:
            detail = f"{given!r} is none of the choices of {name}: {', '.join(choices)}."
            raise Problem(422, "invalid_parameter", detail, parameter=name)
        return given

    @cached_property
    def form_key(self) -> str:
        """The key of the form on this page, by which it is known if it is sent again."""
        return token_urlsafe(16)

    def made(self, secret: str, *segments: object) -> SeeOther:
        """The way to the page that shows a secret: it may be reloaded, and makes no other."""
        address = self.url(*segments)
        sealed = self.sealer.sealed(
            [address, secret], purpose=_SHOWN, whose=self.person.session_id, seconds=SHOWN_SECONDS
        )
        return SeeOther(address, (self.cookies.write(cookies.SHOWN, sealed, seconds=SHOWN_SECONDS),))

    def secret(self) -> str | None:
        """The secret that this page shows, if it was made for it within the last minutes."""
        address = self.url(*self.http.segments[1:])
        for text in self.cookies.read_all(self.http, cookies.SHOWN):  # the portal is also sent the console's
            match self.sealer.opened(text, purpose=_SHOWN, whose=self.person.session_id):
                case [made_for, str(secret)] if made_for == address:
                    return secret
        return None

    def list_query(self, **filters: str) -> Mapping[str, str]:
        """The query of a list for the API: the rows that one page shows, from the cursor of the address on."""
        position = {name: self.query[name] for name in PAGES if self.query.get(name)}
        return {"limit": str(ROWS), **filters, **position}

    @property
    def is_continued(self) -> bool:
        """True if the page goes on in a list from a cursor, so that rows of the list may be on other pages."""
        return any(self.query.get(name) for name in PAGES)

    def sent_to(self, *segments: object) -> RefusedForm:
        """The form of this page that is sent to this address, as it was refused; empty if it was not, or another."""
        if self.refusal is None or self.refused_form != mark_of(self.url(*segments)):
            return RefusedForm()
        return RefusedForm(self.form, wrong_fields(self.refusal))

    def same_page(self, **changes: str | Sequence[str] | None) -> str:
        """The address of this page with some parameters of its query set, or, if None, left out."""
        left_out = {*changes, REFUSED, DONE}
        kept = {name: [*filter(None, self.query.getlist(name))] for name in self.query if name not in left_out}
        return self.url(*self.http.segments[1:], query=kept | {k: v for k, v in changes.items() if v is not None})


View = Callable[[PageRequest], Awaitable[Answer]]
"""Makes a page; raises Problem, which is shown as a page."""
