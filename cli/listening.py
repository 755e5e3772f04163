"""The address that a command serves HTTP on."""

import socket
from errno import EADDRINUSE

from svc_pg.errors import SvcError


def listening(host: str, port: int) -> socket.socket:
    """Listen on an address, and on a free port if ``port`` is 0. Raises SvcError."""
    if not host:  # Python would take all addresses, and an unset variable of a shell may be behind it
        raise SvcError("the address to listen on is empty", hint="Write 127.0.0.1, or 0.0.0.0 for all addresses.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        if error.errno == EADDRINUSE:
            raise SvcError(f"port {port} of {host} is taken", hint="--port 0 takes one that is free.") from error
        reason = str(error.strerror).partition(" (")[0]  # Python repeats the address there
        raise SvcError(f"cannot listen on {host}, port {port}: {reason}") from error


def base_url(host: str, listener: socket.socket) -> str:
    """The URL of the listener, without a slash at its end."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
