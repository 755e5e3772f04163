"""Find the route of a method and a path, segment by segment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from svc_pg.errors import ConfigError

Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class Match(Generic[Target]):
    """The target of a route, and the values of its parameters."""

    target: Target
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Route(Generic[Target]):
    method: str
    pattern: tuple[str, ...]
    target: Target

    @property
    def shape(self) -> tuple[str, tuple[str, ...]]:
        """Equal for routes that no request can tell apart."""
        return self.method, tuple(":" if _is_parameter(part) else part for part in self.pattern)

    @property
    def rank(self) -> tuple[bool, ...]:
        """Sorts an exact segment before a parameter; the first difference from the left decides."""
        return tuple(_is_parameter(part) for part in self.pattern)

    def params(self, segments: Sequence[str]) -> Mapping[str, str] | None:
        if len(segments) != len(self.pattern):
            return None
        params: dict[str, str] = {}
        for part, segment in zip(self.pattern, segments, strict=True):
            if _is_parameter(part) and segment:
                params[part[1:]] = segment
            elif part != segment:
                return None
        return params


class Router(Generic[Target]):
    """Routes of one kind of target. A pattern such as ``/tenant/tenants/:id`` matches as many segments as it has."""

    def __init__(self) -> None:
        self._routes: list[_Route[Target]] = []

    def add(self, method: str, path: str, target: Target) -> None:
        """Add a route. Raises ConfigError if the pattern cannot match or another route matches the same."""
        self.add_all([(method, path, target)])

    def add_all(self, routes: Iterable[tuple[str, str, Target]]) -> None:
        """Add routes, each a method, a path and a target, or none of them if ``add`` refuses one."""
        merged = {route.shape: route for route in self._routes}
        for method, path, target in routes:
            route = _Route(method, _parsed(path), target)
            if merged.setdefault(route.shape, route) is not route:
                raise ConfigError(f"route {method} {path} is there already")
        self._routes = sorted(merged.values(), key=lambda route: route.rank)

    def find(self, method: str, segments: Sequence[str]) -> Match[Target] | None:
        """The route of a request, or None."""
        for route in self._routes:
            if route.method == method and (params := route.params(segments)) is not None:
                return Match(route.target, params)
        return None

    def methods(self, segments: Sequence[str]) -> Sequence[str]:
        """The methods of the routes with this path."""
        return [route.method for route in self._routes if route.params(segments) is not None]


def _parsed(path: str) -> tuple[str, ...]:
    pattern = tuple(path.removeprefix("/").split("/"))
    names = [part[1:] for part in pattern if _is_parameter(part)]
    if not all(pattern) or not all(name.isidentifier() for name in names) or len(names) > len(set(names)):
        raise ConfigError(
            f"route {path!r} has an empty segment, or a parameter without a name of its own",
            hint="Write /segments like /these/:id, without a slash at the end.",
        )
    return pattern


def _is_parameter(part: str) -> bool:
    return part.startswith(":")
