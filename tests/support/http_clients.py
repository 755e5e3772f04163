"""HTTP clients of tests."""

from typing import Any

import httpx


def client_for_threads(base_url: str, **options: Any) -> httpx.Client:
    """A client that several threads may share: each request has a connection of its own.

    Else httpcore may close a connection that has been idle for some seconds while another thread has just taken it.
    """
    return httpx.Client(
        base_url=base_url, limits=httpx.Limits(max_connections=100, max_keepalive_connections=0), **options
    )
