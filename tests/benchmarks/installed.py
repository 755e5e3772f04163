"""The installed peers for comparisons."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec


class PeerError(Exception):
    """A peer cannot take part; the message says why."""


def missing(distribution: str, *modules: str) -> str | None:
    """The reason that a peer cannot take part, if it cannot."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"{distribution} is not installed ({', '.join(absent)})" if absent else None


def versions(*distributions: str) -> dict[str, str]:
    """The versions of the installed peers."""
    found = {}
    for distribution in distributions:
        with suppress(PackageNotFoundError):
            found[distribution] = version(distribution)
    return found
