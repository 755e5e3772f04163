"""The addresses of the HTTP API: each route that reads, with each of its filters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from tests.support.long_log import BULK, HOT

_LEFT_OUT: Final = ("/console/session/poll", "/account/changes", "/audit/export")
"""A sign-in, a stream, and a file: as a command it is checked for its memory."""
_PAGING: Final = ("limit", "cursor", "before", "around", "after", "fields", "fieldsFrom", "leave")
_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "since": ("1h", "100d"),
    "until": ("1h", "100d"),
    "finishedSince": ("1h", "100d"),
    "finishedUntil": ("1h", "6d"),
    "resource": ("public.t", "public.rare", "public.nothing"),
    "notResource": ("public.t",),
    "record": (HOT, "nothing"),
    "actor": ("actor 3", "rare", "nobody"),
    "notActor": ("actor 3",),
    "notTenant": ("tenant 7",),
    "dbUser": ("postgres", "nobody"),
    "label": ("frequent", "rare", "nothing"),
    "notLabel": ("frequent",),
    "compliance": ("gdpr",),
    "notCompliance": ("gdpr",),
    "changed": ("a", "email", "nothing"),
    "transaction": (str(BULK),),
    "contains": ('{"a": 5}',),
    "context": ("rare",),
    "text": ("1", "nobody wrote this"),
    "schema": ("public",),
    "event": ("order.placed", "order.nothing"),
    "by": ("hour", "day"),
    "filter": ("$.id > 5",),
    "time": ("200d", "1h"),
    "otherTime": ("100d",),
    "email": ("person1@corp.example", "nobody@corp.example"),
    "window": ("1d", "7d"),
    "hours": ("48",),
}
_TENANTS: Final = {"audit": ("tenant 7", "rare", "nobody"), "webhooks": ("tenant-1", "tenant-9", "nobody")}
_REQUIRED_TOO: Final = {"record": {"resource": "public.t"}, "text": {}}


def addresses(document: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each route by its name, with the address to ask for: plain, and with each value of each filter alone.

    ``known`` has ids of what exists, by the path or the name of a parameter.
    """
    for path, methods in document["paths"].items():
        if "get" in methods and path not in _LEFT_OUT:
            yield from _of_route(document, path, methods["get"], known)


def _of_route(
    document: Mapping[str, Any], path: str, operation: Mapping[str, Any], known: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    parameters = [_resolved(document, each) for each in operation.get("parameters", ())]
    query = [each for each in parameters if each["in"] == "query" and each["name"] not in _PAGING]
    needed = {each["name"]: _values(path, each, known)[0] for each in query if each.get("required")}
    places = list(_places(path, known))
    for place in places:
        yield path, _address(place, needed)
    for each in query if places else ():
        for value in _values(path, each, known):
            given = {**needed, **_REQUIRED_TOO.get(each["name"], {}), each["name"]: value}
            given = {name: text for name, text in given.items() if any(name == one["name"] for one in query)}
            yield f"{path}, {each['name']}", _address(places[0], given)


def _resolved(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in parameter:
        return parameter
    found: Mapping[str, Any] = document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
    return found


def _places(path: str, known: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The path with ids in the place of its parameters; nothing if none is known."""
    if "{" not in path:
        yield path
        return
    start = max((each for each in known if path.startswith(each)), key=len, default=None)
    if start is not None:
        for one in known[start]:
            parts = one.split(" ")
            place = path
            for part in parts:
                before, _, rest = place.partition("{")
                place = before + quote(part, safe="") + rest.partition("}")[2]
            yield place


def _values(path: str, parameter: Mapping[str, Any], known: Mapping[str, Sequence[str]]) -> Sequence[str]:
    name, schema = parameter["name"], parameter["schema"]
    one = schema.get("items", schema)
    if name in ("tenant", "notTenant"):
        return _TENANTS["audit" if path.startswith("/audit/") else "webhooks"]
    if name in known:
        return known[name]
    found: Sequence[str] = one.get("enum") or _VALUES.get(name) or [str(each) for each in one.get("examples", ())]
    return found


def _address(place: str, given: Mapping[str, str]) -> str:
    return f"{place}?{urlencode(given)}" if given else place
