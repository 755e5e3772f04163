"""The timestamps of seals that the settings ask for, over the HTTP client of the worker."""

from datetime import timedelta
from functools import partial

from svc_pg import Settings
from svc_pg.maintenance.seal_timestamps import Authority, SealTimestamps


def seal_timestamps(
    settings: Settings, *, proxy: str | None, shown_for: timedelta | None = None
) -> SealTimestamps | None:
    """Those of SVC_SEAL_TIMESTAMP_URL, through this proxy; None if that is not set."""
    authority = Authority.of(settings)
    if authority is None:
        return None
    from svc_pg.webhooks.http.single_post import post  # loaded only to ask

    return SealTimestamps(authority, partial(post, proxy=proxy), shown_for=shown_for)
