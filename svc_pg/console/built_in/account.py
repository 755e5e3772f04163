"""The product ``account``: one's own sessions and views; the system; for administrators sessions, tokens and events."""

from svc_pg.config import Config
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.audit_log.live_updates import Changes
from svc_pg.console.built_in.account_changes import changes_route
from svc_pg.console.built_in.account_data_changes import data_changes_route
from svc_pg.console.built_in.account_events import events_route
from svc_pg.console.built_in.account_sessions import SessionRoutes
from svc_pg.console.built_in.account_suggestions import SuggestionRoutes
from svc_pg.console.built_in.account_system import system_route
from svc_pg.console.built_in.account_tokens import TokenRoutes
from svc_pg.console.built_in.account_views import ViewRoutes
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import Product
from svc_pg.console.sign_in.known_tenants import KnownTenants


def account_product(database: Database, log: ConsoleLog, *, config: Config, tenants: KnownTenants) -> Product:
    """The product, for sessions in this database, which should be as ``config`` says; tokens are for ``tenants``."""
    return Product(
        id="account",
        name="Account",
        description="The own session and views; for administrators all sessions, tokens of programs, events, system.",
        endpoints=[
            *SessionRoutes(database).endpoints(),
            *TokenRoutes(database, tenants).endpoints(),
            *ViewRoutes(database, log).endpoints(),
            events_route(database),
            data_changes_route(database),
            system_route(database, config),
            *SuggestionRoutes(database, log, config.audit, tenants).endpoints(),
            changes_route(Changes(database, log)),
        ],
    )
