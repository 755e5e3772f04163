"""Take the requests below ``/.well-known/svc/`` out of an ASGI application's traffic."""

from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Receive, Scope, Send

PREFIX = "/.well-known/svc"

_PREFIX_SEGMENTS = PREFIX.strip("/").split("/")


class PrefixMiddleware:
    """Pure ASGI middleware: the console gets requests below the prefix, the application all others.

    A mounted sub-application could not do this: the bare prefix would be redirected, a slash in ``a%2Fb`` would split
    the segment, and the application's own CORS middleware would answer preflights.
    """

    def __init__(self, app: ASGIApp, console: ASGIApp) -> None:
        self._app = app
        self._console = console

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        path = path_below_prefix(scope) if scope["type"] == "http" else None
        if path is None:
            await self._app(scope, receive, send)
        else:
            await self._console(_console_scope(scope, path), receive, send)


def path_below_prefix(scope: Scope) -> str | None:
    """The still-encoded rest of the path from the slash after the prefix on, or None if the path is not below it.

    Segments are split before they are decoded, so ``%2F`` never separates, and compared after, so ``%2e`` is a dot.
    """
    segments = _raw_path(scope).removeprefix("/").split("/")
    decoded = [unquote(segment) for segment in segments]
    for start in ([*_root_segments(scope), *_PREFIX_SEGMENTS], _PREFIX_SEGMENTS):  # some servers omit the root path
        if decoded[: len(start)] == start and len(segments) > len(start):
            return "/" + "/".join(segments[len(start) :])
    return None


def _console_scope(scope: Scope, path: str) -> Scope:
    """The scope as if the console were mounted at the prefix; see ``mounted_path``."""
    root_path = scope.get("root_path", "").rstrip("/") + PREFIX
    return {
        **scope,
        "root_path": root_path,
        "path": root_path + unquote(path),
        "raw_path": (quote(root_path) + path).encode("latin-1"),
    }


def mounted_path(scope: Scope) -> str:
    """The still-encoded path of a request below the mount of its application, however that is spelled."""
    segments, root = _raw_path(scope).removeprefix("/").split("/"), _root_segments(scope)
    is_below = [unquote(segment) for segment in segments[: len(root)]] == root  # some servers omit the root path
    return "/" + "/".join(segments[len(root) :] if is_below else segments)


def _raw_path(scope: Scope) -> str:
    """The path as it arrived. ``raw_path`` is optional in ASGI, and some servers leave the query in it."""
    raw: bytes | None = scope.get("raw_path")
    return quote(scope["path"]) if raw is None else raw.decode("latin-1").partition("?")[0]


def _root_segments(scope: Scope) -> list[str]:
    root_path: str = scope.get("root_path", "").strip("/")
    return root_path.split("/") if root_path else []
