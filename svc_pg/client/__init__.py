"""Call the HTTP API of a console, from sync code or asyncio: it needs httpx, and no database.

``models`` has the answers of operations, and ``requests`` their parameters and bodies.
"""

try:
    import httpx as _httpx  # noqa: F401 - the modules below need it
except ImportError as error:
    raise ImportError("svc_pg.client needs httpx: pip install 'svc-pg[client]'", name="httpx") from error

from svc_pg.client.answers import Answer, Page
from svc_pg.client.clients import AsyncClient, Client
from svc_pg.client.errors import (
    ApiError,
    CallError,
    ClientError,
    ConflictError,
    ConnectionFailedError,
    Fault,
    ForbiddenError,
    InvalidError,
    NotAuthenticatedError,
    NotFoundError,
    OutdatedError,
    RateLimitedError,
    ServerError,
    UnexpectedAnswerError,
)
from svc_pg.client.generated import models, requests
from svc_pg.client.streams import AsyncStream, ServerEvent, Stream

__all__ = [
    "Answer",
    "ApiError",
    "AsyncClient",
    "AsyncStream",
    "CallError",
    "Client",
    "ClientError",
    "ConflictError",
    "ConnectionFailedError",
    "Fault",
    "ForbiddenError",
    "InvalidError",
    "NotAuthenticatedError",
    "NotFoundError",
    "OutdatedError",
    "Page",
    "RateLimitedError",
    "ServerError",
    "ServerEvent",
    "Stream",
    "UnexpectedAnswerError",
    "models",
    "requests",
]
