"""The management API of webhooks under a path of the application's own."""

from starlette.types import ASGIApp

from svc_pg.console.adapter import asgi_app
from svc_pg.console.app import Console
from svc_pg.console.core import Core
from svc_pg.console.http.bearer import SessionOf
from svc_pg.console.sessions.host_sessions import refusing_other_sites


def webhooks_app(console: Console, *, session_of: SessionOf | None = None) -> ASGIApp:
    """The routes of the product ``webhooks``, to be mounted: ``app.mount("/api/webhooks", webhooks_app(console))``.

    Callers need a session as in the console, unless ``session_of`` says who asks and what they may do: it takes the
    request and returns a Session, or raises Problem, such as ``Problem(401, "not_authenticated")``. There is no mode
    without sessions. One with a ``tenant`` reaches what is that tenant's, one without the endpoints and payloads of
    all. As the session may be a cookie's, changes that a page of another origin asks for are refused. The OpenAPI
    document is at ``/openapi.json``. ``console`` need not be installed, but its lifespan must run.
    """
    core = Core(
        session_of=console.session_of
        if session_of is None
        else refusing_other_sites(console.calls.counted(session_of)),
        turns=console.turns,
        on_refusal=console.refusals.record,
        repeats=console.repeats,
        allowed_origins=console.allowed_origins,
        title="Webhooks",
        console_path="",
        is_read_only=console.is_read_only,
    )
    core.add_product(console.webhooks, below="")
    return asgi_app(core, title="Webhooks", trusted_proxies=console.trusted_proxies)
