"""Ports for servers of tests."""

import socket


def free_port() -> int:
    """A free port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
