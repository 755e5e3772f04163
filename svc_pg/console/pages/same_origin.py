"""Refuse forms that another site's page has a browser send (cross-site request forgery)."""

from urllib.parse import urlsplit

from svc_pg.console.requests import ConsoleRequest, Problem


def require_same_origin(request: ConsoleRequest) -> None:
    """Raise Problem 403 unless a page of this host sent the form.

    Browsers say so in Sec-Fetch-Site, older ones in Origin; a request that has neither is refused.
    https://www.w3.org/TR/fetch-metadata/
    """
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    is_own = sites == ["same-origin"] if sites else len(origins) == 1 and _is_own(origins[0], request)
    if not is_own:
        raise Problem(403, "foreign_origin", "This form was not sent by a page of the console.")


def _is_own(origin: str, request: ConsoleRequest) -> bool:
    """True if the origin is this host. A proxy may have ended TLS, so its scheme is not compared."""
    return bool(host := request.headers.get("host")) and urlsplit(origin).netloc == host
