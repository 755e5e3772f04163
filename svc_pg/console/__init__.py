"""The console: a session-gated HTTP API to inspect and manage an application's audit log and webhooks."""

from svc_pg.console.app import Console, register_tenants
from svc_pg.console.http.bearer import SessionOf
from svc_pg.console.http.body import RequestBody, read_body
from svc_pg.console.http.documentation import Parameter
from svc_pg.console.http.products import Product, ProductEndpoint
from svc_pg.console.http.requests import AuthenticatedRequest, ConsoleRequest, ConsoleResponse, Problem, created
from svc_pg.console.http.tokens import Session, new_connection_token
from svc_pg.console.sessions.django_users import django_users
from svc_pg.console.sessions.host_sessions import HostSessionOf
from svc_pg.console.sign_in.mail import EmailSender
from svc_pg.console.sign_in.tenant_table import TenantTable
from svc_pg.console.webhooks_app import webhooks_app
from svc_pg.database.pagination import Page
from svc_pg.formats.doc import Doc

__all__ = [
    "AuthenticatedRequest",
    "Console",
    "ConsoleRequest",
    "ConsoleResponse",
    "Doc",
    "EmailSender",
    "HostSessionOf",
    "Page",
    "Parameter",
    "Problem",
    "Product",
    "ProductEndpoint",
    "RequestBody",
    "Session",
    "SessionOf",
    "TenantTable",
    "created",
    "django_users",
    "new_connection_token",
    "read_body",
    "register_tenants",
    "webhooks_app",
]
