"""Refuse requests that another site's page makes a browser send (cross-site request forgery).

Browsers name the site in Sec-Fetch-Site, older ones in Origin: https://www.w3.org/TR/fetch-metadata/
"""

from urllib.parse import urlsplit

from svc_pg.console.http.requests import ConsoleRequest, Problem


def require_same_origin(request: ConsoleRequest) -> None:
    """Raise Problem 403 unless a page of this host sent the form; a request that has neither header is refused."""
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    is_own = sites == ["same-origin"] if sites else len(origins) == 1 and _is_own(origins[0], request)
    if not is_own:
        raise Problem(403, "foreign_origin", "This form was not sent by a page of the console.")


def refuse_other_sites(request: ConsoleRequest) -> None:
    """Raise Problem 403 if a page of another origin made the request.

    A request with neither header comes from a program: every browser sends one of them with what changes something.
    """
    sites = request.headers.getlist("sec-fetch-site")
    origins = request.headers.getlist("origin")
    is_own = all(site in ("same-origin", "none") for site in sites) if sites else True
    if not is_own or not all(_is_own(origin, request) for origin in origins):
        raise Problem(403, "foreign_origin", "A page of another origin made this request.")


def _is_own(origin: str, request: ConsoleRequest) -> bool:
    """True if the origin is this host. A proxy may have ended TLS, so its scheme is not compared."""
    try:
        return bool(host := request.headers.get("host")) and urlsplit(origin).netloc == host
    except ValueError:  # no URL at all
        return False
