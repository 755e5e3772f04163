"""The console as a part of an application, or as an application of its own."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool
from pydantic import JsonValue
from starlette.applications import Starlette
from starlette.types import ASGIApp

from svc_pg.config import AuditedTable, Config
from svc_pg.console.adapter import asgi_app
from svc_pg.console.audit_log.address import log_at
from svc_pg.console.audit_log.read_recording import recording
from svc_pg.console.built_in import discovery
from svc_pg.console.built_in.account import account_product
from svc_pg.console.built_in.audit import audit_product
from svc_pg.console.built_in.tenant_routes import tenant_product
from svc_pg.console.built_in.webhooks import webhooks_product
from svc_pg.console.core import Core
from svc_pg.console.database.pool import Database
from svc_pg.console.http.bearer import Authenticate, SessionOf, bearer
from svc_pg.console.http.once import Once
from svc_pg.console.http.products import Product
from svc_pg.console.http.repeated_calls import RepeatedCalls
from svc_pg.console.http.requests import AuthenticatedRequest
from svc_pg.console.http.sealing import Sealer
from svc_pg.console.http.tenant_cursors import TenantCursors
from svc_pg.console.pages.brand import Brand
from svc_pg.console.pages.page_sessions import customers, people
from svc_pg.console.pages.portal_routes import PORTAL, PORTAL_PATH
from svc_pg.console.pages.record_titles import RecordTitles
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.pages.site import PATH as PAGES_PATH
from svc_pg.console.pages.site import Site
from svc_pg.console.sessions.call_limits import CallLimits
from svc_pg.console.sessions.host_sessions import HostSessionOf, host_of, with_host
from svc_pg.console.sessions.host_users import ActorNames, HostUsers, SignInUrl
from svc_pg.console.sessions.security_log import Refusals
from svc_pg.console.sessions.token_sessions import with_programs
from svc_pg.console.sign_in import portal_links
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.console.sign_in.mail import EmailSender
from svc_pg.console.sign_in.method import sign_in_of
from svc_pg.console.sign_in.portal_opening import OPEN, PortalOpening
from svc_pg.console.sign_in.sign_in_routes import refuse_change
from svc_pg.console.sign_in.tenant_table import SVC_TENANTS, TenantTable
from svc_pg.console.status.offered_products import OfferedProducts
from svc_pg.console.status.readiness import READY, Readiness
from svc_pg.console.transport import cors
from svc_pg.console.transport.concurrency_limit import Turns
from svc_pg.console.transport.prefix import PREFIX, PrefixMiddleware
from svc_pg.console.transport.wrapping import Wrapped
from svc_pg.settings import Settings, signing_keys


class Console:
    """The console API below ``/.well-known/svc``.

    It uses at most half of the connections of ``pool``, and never opens or closes it; without one it opens its own for
    ``settings.database_url`` while its ``lifespan`` runs. ``email_sender`` sends the sign-in codes instead of
    ``settings.console_smtp_url``. ``session_of`` finds the session of the application's own user who makes a request,
    or gives None; it is asked about requests without a token of the console, and about pages without its cookie.
    ``actor_names`` finds the names of actors, which pages show in place of their ids to sessions of no tenant, and
    ``sign_in_url`` the address at which the application's users sign in; both are by default those of ``session_of``.
    ``audit_log`` is the address of another database: the product ``audit`` then reads the log there, instead of
    ``settings.audit_log_url``, and by default that of the console's own database. A console that ``is_read_only``
    writes nothing, so that its database may be a standby: it makes no sessions, and refuses all changes.

    Raises ConsoleAutoApproveInProductionError or ConsoleWeakSecretError if the settings let anybody in, ConfigError if
    they let nobody in, or cannot mail; the error names all problems of the settings. Also raises ConfigError if the id
    or a route of a product is taken.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        pool: AsyncConnectionPool[Any] | None = None,
        config: Config | None = None,
        products: Iterable[Product] = (),
        email_sender: EmailSender | None = None,
        session_of: HostSessionOf | None = None,
        actor_names: ActorNames | None = None,
        sign_in_url: SignInUrl | None = None,
        audit_log: str | None = None,
        is_read_only: bool = False,
    ) -> None:
        self.is_read_only = is_read_only
        self._database = Database(settings.database_url, pool, is_read_only=is_read_only)
        desired = config or Config()
        self._log = log = log_at(audit_log or settings.audit_log_url, self._database, desired)
        self._sign_in = sign_in_of(
            settings, database=self._database, email_sender=email_sender, has_host=session_of is not None
        )
        self.calls = CallLimits()
        """The calls that the database does not count, here and in ``webhooks_app``."""
        authenticate = self._counted(with_programs(self._sign_in.authenticate, self._database))
        own = host_of(settings, session_of)
        self._users = HostUsers.of(settings, session_of, actor_names, sign_in_url)
        host = None if own is None else self.calls.counted(own)
        find = with_host(bearer(authenticate), host)
        self.session_of: SessionOf = find
        """Finds the session of a request, for ``webhooks_app``."""
        self.allowed_origins = cors.allowed_origins(settings)
        self.trusted_proxies = settings.console_trusted_proxies
        self.turns = Turns(self._database.calls_of_a_session)
        """The calls of each session at a time, here and in ``webhooks_app``."""
        self.refusals = Refusals(self._database)
        """Records of the calls that sessions may not make, here and in ``webhooks_app``."""
        self.repeats = RepeatedCalls(self._database.connection, signing_keys(settings))
        """The answers that repeated calls get, here and in ``webhooks_app``."""
        self._offered = OfferedProducts(self._database, lambda: self._core.product_ids, is_log_here=log.is_here)
        self._core = Core(
            session_of=find,
            still_of=partial(find, is_use=False),
            turns=self.turns,
            on_refusal=self.refusals.record,
            repeats=self.repeats,
            allowed_origins=self.allowed_origins,
            title="svc-pg console",
            pages_path=PAGES_PATH,
            is_read_only=is_read_only,
            offered=self._offered.ids,
        )
        self._add_open_routes(settings)
        self.tenants = KnownTenants()
        """The tenants that links to the portal and tokens may be for."""
        account = account_product(self._database, log, config=desired, tenants=self.tenants)
        self._core.add_product(recording(account, log, self._core.encoder, reads_log_alone=False), is_built_in=True)
        self.webhooks = webhooks_product(
            self._database, settings=settings, config=desired.webhooks, tenants=self.tenants
        )
        """The built-in product, for ``webhooks_app``."""
        cursors = TenantCursors(signing_keys(settings))
        audit = audit_product(self._database, log, settings=settings, config=desired.audit, cursors=cursors)
        for product in (recording(audit, log, self._core.encoder, reads_log_alone=True), self.webhooks, *products):
            self.register_product(product)
        self.app = asgi_app(
            self._core,
            title="svc-pg console",
            trusted_proxies=self.trusted_proxies,
            sites=self._sites(settings, host, desired.audit.tables),
        )
        """The console below its prefix."""
        self.asgi: ASGIApp = PrefixMiddleware(Starlette(lifespan=self.lifespan), console=self.app)
        """An application of its own, with its lifespan; 404 for paths that are not below the prefix."""

    def _counted(self, authenticate: Authenticate) -> Authenticate:
        """``authenticate``, whose calls are counted here if the database cannot."""
        return self.calls.counting(authenticate) if self.is_read_only else authenticate

    def _add_open_routes(self, settings: Settings) -> None:
        """Add the routes that need no session: health, sign-in, and the way into the portal."""
        begins = [handler for _, path, handler, _ in self._sign_in.routes if path == "/init"]
        methods = [self._sign_in.method for handler in begins if handler is not refuse_change]
        capabilities = discovery.capabilities(self._offered.ids, methods)
        readiness = Readiness(self._database)
        for method in ("GET", "HEAD"):
            self._core.add_route(method, "/health", discovery.health, discovery.HEALTH)
            self._core.add_route(method, "/ready", readiness.ready, READY)
        self._core.add_route("GET", "/capabilities", capabilities, discovery.CAPABILITIES)
        opening = refuse_change if self.is_read_only else PortalOpening(self._database, settings).open
        self._core.add_route("POST", "/portal/open", opening, OPEN)
        for method, path, handler, documentation in self._sign_in.routes:
            self._core.add_route(method, f"/session{path}", handler, documentation)

    def _sites(self, settings: Settings, host: HostSessionOf | None, tables: Sequence[AuditedTable]) -> list[Site]:
        """The pages of the portal, whose path is below that of the others, and those of the console."""
        is_secure = settings.env == "production"
        keys = signing_keys(settings)
        sealer, once_of = Sealer(keys), partial(Once, self._database.connection)
        portal = Site(
            self._core,
            PORTAL,
            offered=self._offered,
            session_of=customers(self._counted(partial(portal_links.session_of, self._database))),
            turns=self.turns,
            sealer=sealer,
            once_of=once_of,
            is_secure=is_secure,
            path=PORTAL_PATH,
            brand=Brand.of(settings),
            tenant_name_of=self._tenant_name,
            is_read_only=self.is_read_only,
        )
        console = Site(
            self._core,
            ROUTES,
            offered=self._offered,
            session_of=people(self._counted(self._sign_in.authenticate), host, keys=keys),
            turns=self.turns,
            sealer=sealer,
            once_of=once_of,
            is_secure=is_secure,
            log=self._log,
            users=self._users,
            titles=RecordTitles(tables, is_of_any_schema=self._log is not None and not self._log.has_past),
            is_read_only=self.is_read_only,
        )
        return [portal, console]

    async def _tenant_name(self, tenant: str) -> str | None:
        async with self._database.connection() as conn:
            return await self.tenants.name_of(conn, tenant)

    def register_product(self, product: Product) -> None:
        """Add a product's routes. Raises ConfigError if its id or one of its routes is taken."""
        self._core.add_product(product)

    def install(self, app: Starlette) -> None:
        """Put the console before all routes and middleware of a FastAPI or Starlette application.

        Call it after the last ``add_middleware``: middleware that is added later runs before the console, and CORS
        middleware would answer its preflights.
        """
        app.add_middleware(PrefixMiddleware, console=self.app)

    def wrap(self, app: ASGIApp) -> ASGIApp:
        """Any ASGI application with the console before all of it: Django's, Litestar's, or a WSGI application's.

        The console's lifespan runs around the application's own, if that has one: do not run it a second time.
        """
        return Wrapped(app, console=self.app, lifespan=self.lifespan)

    def openapi(self, *, server_url: str = PREFIX) -> Mapping[str, JsonValue]:
        """The OpenAPI document of the console and its products, as ``/console/openapi.json`` serves it."""
        return self._core.openapi(server_url=server_url)

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """For ``FastAPI(lifespan=console.lifespan)``, or ``async with console.lifespan():`` in a lifespan of yours."""
        async with self._database.opened(), self._log.opened(), self._sign_in.opened(), self.refusals.opened():
            yield

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """A database connection in a transaction of its own, for handlers. Raises Problem 503 if there is none."""
        return self._database.connection()

    def acting(self, request: AuthenticatedRequest) -> AbstractAsyncContextManager[AsyncConnection[Any]]:
        """As ``connection``, with the session of the request as the actor: for every handler that changes something."""
        return self._database.acting(request)


def register_tenants(console: Console, *, table: TenantTable = SVC_TENANTS) -> Product:
    """Add the product ``tenant`` to the console, and return it. Raises ConfigError if it has one already."""
    product = tenant_product(console._database, table)
    console.register_product(product)
    console.tenants.are_in(table)
    return product
