"""The addresses of our own pages to which a request may lead back, and no others: an open redirect would lead away."""

from typing import Final
from urllib.parse import unquote, urlsplit

from svc_pg.console.http.requests import ConsoleRequest

LONGEST: Final = 4000


def own_address(text: str | None, base_path: str) -> str:
    """The address, if it is that of a page below ``base_path``; else empty."""
    if not text or not text.startswith(f"{base_path}/") or not (text.isascii() and text.isprintable()):
        return ""
    leads_away = "\\" in text or any(unquote(segment) in (".", "..") for segment in urlsplit(text).path.split("/"))
    return "" if leads_away or len(text) > LONGEST else text


def referring(request: ConsoleRequest, base_path: str) -> str:
    """The page of ours that the browser names as the one before; empty if it names none."""
    try:
        parts = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return ""
    if parts.netloc != request.headers.get("host"):
        return ""
    return own_address(f"{parts.path}?{parts.query}" if parts.query else parts.path, base_path)
