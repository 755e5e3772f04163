"""TLS contexts: the default, which trusts the system's authorities, and those of private receivers."""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http.tls import Tls, check_tls

_MOST: Final = 64  # of private receivers; each may hold all authorities of the system


class UnusableTls(EndpointError):
    """The authorities or the client certificate of an endpoint cannot be used. The message shows no key."""


class _Private(NamedTuple):
    context: ssl.SSLContext
    ends_at: datetime | None


class Contexts:
    """The contexts of a transport. A limited number of those of private receivers is kept."""

    def __init__(self) -> None:
        self._of = lru_cache(maxsize=_MOST)(_private)

    def of(self, tls: Tls | None) -> ssl.SSLContext:
        """The context for a receiver. Raises UnusableTls."""
        if tls is None:
            return default_context()
        try:
            context, ends_at = self._of(tls)
            if ends_at is not None and ends_at <= (now := datetime.now(UTC)):
                check_tls(tls, now=now)
        except UnusableTls:
            raise
        except EndpointError as error:
            raise UnusableTls(error.message) from None
        return context


def usable_until(tls: Tls) -> datetime | None:
    """The end of the client certificate, if there is one. Raises EndpointError if it cannot be used."""
    if tls.ca_bundle is not None:
        return _private(tls).ends_at
    ends_at = check_tls(tls)
    _load_certificate(tls, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))  # to read the authorities of the system takes 20 ms
    return ends_at


@lru_cache(maxsize=1)
def default_context() -> ssl.SSLContext:
    """TLS with the authorities of the system."""
    return _context(None)


def _context(ca_bundle: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=ca_bundle)
    if ca_bundle is not None:  # private authorities often lack extensions that Python demands since 3.13
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context


def _private(tls: Tls) -> _Private:
    ends_at = check_tls(tls)
    try:
        context = _context(tls.ca_bundle)
    except ssl.SSLError as error:
        raise UnusableTls(f"the CA bundle cannot be used: {error.reason}") from None
    _load_certificate(tls, context)
    return _Private(context, ends_at)


def _load_certificate(tls: Tls, context: ssl.SSLContext) -> None:
    if tls.client_certificate is None or tls.client_key is None:
        return
    try:
        with _file(f"{tls.client_key}\n{tls.client_certificate}\n".encode()) as path:
            context.load_cert_chain(path, password="")  # otherwise OpenSSL would ask for one
    except ssl.SSLError as error:
        raise UnusableTls(f"the client certificate and its key cannot be used: {error.reason}") from None


@contextmanager
def _file(content: bytes) -> Iterator[str]:
    """The path of a file with this content, in memory if possible, because ssl reads nothing but files."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("client certificate"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.TemporaryDirectory() as folder:  # readable by no other user
        path = Path(folder, "client.pem")
        path.write_bytes(content)
        yield str(path)
