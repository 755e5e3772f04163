"""The errors of a receiver that hangs up: over TLS a way to refuse a client certificate without an alert."""

from typing import Final

from svc_pg.webhooks.http.tls import Tls

LOST: Final = "the connection was lost before the response was complete"


def in_handshake(host: str, tls: Tls | None) -> str:
    """The error if it hung up during the TLS handshake."""
    return f"no TLS connection to {host}: the receiver hung up during the handshake; {_guess(tls)}"


def without_answer(tls: Tls | None) -> str:
    """The error if it hung up on a new TLS connection before it answered; TLS 1.3 checks clients that late."""
    return f"the receiver hung up after the TLS handshake, without an answer; {_guess(tls)}"


def _guess(tls: Tls | None) -> str:
    has_certificate = tls is not None and tls.client_certificate is not None
    return "it may refuse the client certificate" if has_certificate else "it may ask for a client certificate"
