"""Register and change endpoints: the calls that may need the encryption key.

Applications call them by ``svc_pg.webhooks.endpoints``.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack

from psycopg import AsyncConnection, Connection

from svc_pg.database.query import Query, afetch_one, fetch_one
from svc_pg.webhooks.endpoints import endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_fields import Changes, Options, needs_keys
from svc_pg.webhooks.endpoints.endpoint_queries import OVERLAP
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.secrets import KeyRing

if TYPE_CHECKING:
    from svc_pg.config import Config
    from svc_pg.settings import Settings


def create(
    conn: Connection[Any],
    *,
    url: str,
    events: Sequence[str],
    settings: "Settings",
    config: "Config | None" = None,
    tenant: str | None = None,
    **options: Unpack[Options],
) -> EndpointWithSecret:
    """Register an endpoint; its ``secret``, which the receiver needs, can be read only now.

    ``events`` are names, ``order.*`` or ``*``. With a ``tenant`` it gets that tenant's messages, without one all.
    ``settings`` have the key that seals the secret: ``Settings.load()``. ``config`` allows, by ``allow_http`` and
    ``allow_cidrs``, other URLs than https to public addresses. Default: no others.

    Raises EndpointError if a field is not acceptable or an event is not defined, EncryptionKeyError if there is no key.
    """
    return fetch_one(conn, _creation(url, events, settings, config, tenant, options))


async def acreate(
    conn: AsyncConnection[Any],
    *,
    url: str,
    events: Sequence[str],
    settings: "Settings",
    config: "Config | None" = None,
    tenant: str | None = None,
    **options: Unpack[Options],
) -> EndpointWithSecret:
    """As ``create``."""
    return await afetch_one(conn, _creation(url, events, settings, config, tenant, options))


def update(
    conn: Connection[Any],
    endpoint_id: str,
    *,
    settings: "Settings | None" = None,
    config: "Config | None" = None,
    **changes: Unpack[Changes],
) -> Endpoint:
    """Change the given fields. Raises EndpointError as ``create`` does.

    ``headers`` replace all headers and ``tls`` all TLS material; both, and v1a among ``signatures``, need ``settings``,
    which have the key that seals them. A URL of another origin loses headers and TLS material unless they are given
    again: they may be credentials for the old one.
    """
    return fetch_one(conn, _update(endpoint_id, settings, config, changes))


async def aupdate(
    conn: AsyncConnection[Any],
    endpoint_id: str,
    *,
    settings: "Settings | None" = None,
    config: "Config | None" = None,
    **changes: Unpack[Changes],
) -> Endpoint:
    """As ``update``."""
    return await afetch_one(conn, _update(endpoint_id, settings, config, changes))


def rotate_secret(
    conn: Connection[Any], endpoint_id: str, *, settings: "Settings", overlap: timedelta = OVERLAP
) -> EndpointWithSecret:
    """Give an endpoint a new ``secret``, which can be read only now, and a new key pair if it has one.

    During ``overlap``, at most 30 days, the previous ones sign too, so receivers can change over. Raises EndpointError
    for another overlap, EncryptionKeyError if ``settings`` have no key.
    """
    query = endpoint_queries.rotate_secret(endpoint_id, keys=KeyRing.of(settings), overlap=overlap)
    return fetch_one(conn, query)


async def arotate_secret(
    conn: AsyncConnection[Any], endpoint_id: str, *, settings: "Settings", overlap: timedelta = OVERLAP
) -> EndpointWithSecret:
    """As ``rotate_secret``."""
    query = endpoint_queries.rotate_secret(endpoint_id, keys=KeyRing.of(settings), overlap=overlap)
    return await afetch_one(conn, query)


def _creation(
    url: str,
    events: Sequence[str],
    settings: "Settings",
    config: "Config | None",
    tenant: str | None,
    options: Options,
) -> Query[EndpointWithSecret]:
    keys, guard = KeyRing.of(settings), _guard(config)
    return endpoint_queries.create(url=url, events=events, keys=keys, guard=guard, tenant=tenant, **options)


def _update(
    endpoint_id: str, settings: "Settings | None", config: "Config | None", changes: Changes
) -> Query[Endpoint]:
    keys = None if settings is None or not needs_keys(changes) else KeyRing.of(settings)
    return endpoint_queries.update(endpoint_id, keys=keys, guard=_guard(config), **changes)


def _guard(config: "Config | None") -> Guard:
    return Guard() if config is None else Guard.of(config.webhooks)
