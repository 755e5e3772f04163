"""The product ``webhooks``: manage endpoints and deliveries, send events."""

from svc_pg.config import WebhooksConfig
from svc_pg.console.built_in.webhook_bulk import BulkRoutes
from svc_pg.console.built_in.webhook_deliveries import DeliveryRoutes
from svc_pg.console.built_in.webhook_delivery_request import DeliveryRequestRoutes
from svc_pg.console.built_in.webhook_endpoint_actions import EndpointActionRoutes
from svc_pg.console.built_in.webhook_endpoints import EndpointRoutes
from svc_pg.console.built_in.webhook_events import EventRoutes
from svc_pg.console.built_in.webhook_filter_trial import FilterTrialRoutes
from svc_pg.console.built_in.webhook_messages import MessageRoutes
from svc_pg.console.built_in.webhook_portal import PortalRoutes
from svc_pg.console.built_in.webhook_traffic import TrafficRoutes
from svc_pg.console.built_in.webhook_transactions import TransactionDeliveryRoutes
from svc_pg.console.built_in.webhook_values import WebhookValueRoutes
from svc_pg.console.database.pool import Database
from svc_pg.console.http.products import Product
from svc_pg.console.sign_in.known_tenants import KnownTenants
from svc_pg.settings import Settings
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing


def webhooks_product(
    database: Database, *, settings: Settings, config: WebhooksConfig, tenants: KnownTenants
) -> Product:
    """The product; ``config`` says which addresses endpoints may have; they and links are for these ``tenants``."""
    keys = None if settings.encryption_keys is None else KeyRing.of(settings)
    routes = (
        EndpointRoutes(database, Guard.of(config), keys, tenants),
        EndpointActionRoutes(database, keys),
        DeliveryRoutes(database),
        BulkRoutes(database),
        TransactionDeliveryRoutes(database),
        DeliveryRequestRoutes(database, keys),
        MessageRoutes(database),
        FilterTrialRoutes(database),
        EventRoutes(database),
        TrafficRoutes(database),
        WebhookValueRoutes(database),
        PortalRoutes(database, settings.console_public_url, tenants),
    )
    return Product(
        id="webhooks",
        name="Webhooks",
        description="Endpoints, the messages that they get, and the deliveries of these.",
        endpoints=[each for group in routes for each in group.endpoints()],
    )
