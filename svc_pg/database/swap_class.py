"""Give an existing object methods before those of its class: of a driver's connection, whoever opened it."""

from functools import cache
from typing import Any


def become(target: Any, mixin: type) -> None:
    """Make the object one of a subclass of its class, in which the methods of ``mixin`` come first. Idempotent."""
    if not isinstance(target, mixin):
        given: Any = type(target)
        target.__class__ = _subclass(mixin, given)


@cache
def _subclass(mixin: Any, given: Any) -> Any:
    """A class whose objects have the memory layout of those of ``given``."""
    return type(given.__name__, (mixin, given), {"__slots__": (), "__module__": given.__module__})
