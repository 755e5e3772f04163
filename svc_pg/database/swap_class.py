"""Override methods of an existing object, for example of a driver's connection that others have opened."""

from functools import cache
from typing import Any


def become(target: Any, mixin: type) -> None:
    """Change the object's class to a subclass of it in which the methods of ``mixin`` come first. Idempotent."""
    if not isinstance(target, mixin):
        given: Any = type(target)
        target.__class__ = _subclass(mixin, given)


@cache
def _subclass(mixin: Any, given: Any) -> Any:
    """A class whose objects have the memory layout of those of ``given``."""
    return type(given.__name__, (mixin, given), {"__slots__": (), "__module__": given.__module__})
