"""Which other tools are installed, to be compared with."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec


class PeerError(Exception):
    """A peer cannot take part; the message says why."""


def missing(distribution: str, *modules: str) -> str | None:
    """Why a peer cannot take part, if it cannot."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"{distribution} is not installed ({', '.join(absent)})" if absent else None


def versions(*distributions: str) -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for distribution in distributions:
        with suppress(PackageNotFoundError):
            found[distribution] = version(distribution)
    return found
