"""Names of things for people."""

from urllib.parse import urlsplit


def endpoint_name(description: str, url: str) -> str:
    """The name of an endpoint: its description, or the host of its URL."""
    return description.strip() or urlsplit(url).hostname or url
