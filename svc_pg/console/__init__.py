"""The console: a session-gated HTTP API to look at and steer an application's audit log and webhooks."""

from svc_pg.console.app import Console
from svc_pg.console.products import Product, ProductEndpoint
from svc_pg.console.requests import AuthenticatedRequest, ConsoleRequest, ConsoleResponse, Problem
from svc_pg.console.tokens import Session, new_connection_token

__all__ = [
    "AuthenticatedRequest",
    "Console",
    "ConsoleRequest",
    "ConsoleResponse",
    "Problem",
    "Product",
    "ProductEndpoint",
    "Session",
    "new_connection_token",
]
