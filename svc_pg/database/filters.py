"""The filters of a list, declared once: keywords of Python, parameters of the API, options and pages come from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, Final, Literal, TypeVar, assert_never, get_args, get_origin, get_type_hints

from svc_pg.formats import durations

Builder = TypeVar("Builder")
MAX_VALUES: Final = 20
"""The most values of one filter."""
Kind = Literal["text", "texts", "id", "ids", "number", "time", "choice", "flag"]

_ID: Final = "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10"
_EXAMPLES: Final[Mapping[Kind, str]] = {"id": _ID, "ids": _ID, "time": "1h", "number": "7301"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selects:
    """The words of a filter, in the annotation of its key: ``Annotated[str | None, Selects(words="entries of ...")]``.

    ``words`` say which rows it selects, and ``example`` is one of its texts. ``word`` stands before its value on pages.
    Its name in the API is its key in camelCase unless ``api`` is another, and its ``option`` has hyphens. The query has
    a method of its key, which gets the value, or all values of a list of texts; or ``apply`` is called with the query
    and the value. A text that ``is_search`` has words of its own language, such as ``-without`` and ``"a phrase"``.
    """

    words: str
    word: str = ""
    api: str = ""
    option: str = ""
    example: str = ""
    is_id: bool = False
    is_search: bool = False
    apply: Callable[[Any, Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class ListFilter:
    """A filter of a list. ``kind`` is the type of its values; ``choices`` lists them, if they are few."""

    name: str
    kind: Kind
    choices: Sequence[str]
    words: str
    word: str
    api: str
    option: str
    example: str
    is_search: bool
    apply: Callable[[Any, Any], Any] | None

    def add(self, query: Any, value: Any) -> Any:
        """The query with the condition for this value."""
        if self.apply is not None:
            return self.apply(query, value)
        values = value if self.kind == "texts" else [value]
        return getattr(query, self.name)(*values)

    def read(self, text: str) -> object:
        """Read a value from a text of an address, a body or an option. Raises ValueError."""
        match self.kind:
            case "ids":
                return text.split(",")
            case "number":
                if len(text) > 18 or not text.isascii() or not text.isdecimal():
                    raise ValueError("write up to 18 digits")
                return int(text)
            case "time":
                return durations.point_in_time(text)
            case "flag":
                if text not in ("true", "false"):
                    raise ValueError("write true or false")
                return text == "true"
            case "text" | "texts" | "id" | "choice":
                return text
            case _:
                assert_never(self.kind)


@cache
def filters_of(declaration: type) -> Mapping[str, ListFilter]:
    """The filters that a TypedDict declares, by their names."""
    return {name: _filter(name, hint) for name, hint in get_type_hints(declaration, include_extras=True).items()}


def applied(query: Builder, declaration: type, given: Mapping[str, Any]) -> Builder:
    """The query with the condition of each filter that is not None. Raises TypeError for one that is not declared."""
    known, wanted = filters_of(declaration), query
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{name!r} is no filter of this list; its filters are {', '.join(known)}")
        if value is not None:
            wanted = known[name].add(wanted, value)
    return wanted


def _filter(name: str, hint: Any) -> ListFilter:
    annotated, selects = get_args(hint)
    types = [each for each in get_args(annotated) or [annotated] if each is not NoneType]
    kind = _kind(types, is_id=selects.is_id)
    return ListFilter(
        name,
        kind,
        _choices(types[0]),
        selects.words,
        selects.word or name.replace("_", " ").capitalize(),
        selects.api or _camel(name),
        selects.option or name.replace("_", "-"),
        selects.example or _EXAMPLES.get(kind, ""),
        selects.is_search,
        selects.apply,
    )


def _kind(types: Sequence[Any], *, is_id: bool) -> Kind:
    [first, *others] = types
    if datetime in others:
        return "time"
    if first is int:
        return "number"
    if first is bool:
        return "flag"
    if get_origin(first) is Literal:
        return "choice"
    if get_origin(first) is Sequence:
        return "ids" if is_id else "texts"
    return "id" if is_id else "text"


def _choices(hint: Any) -> Sequence[str]:
    inner = get_args(hint)[0] if get_origin(hint) is Sequence else hint
    return get_args(inner) if get_origin(inner) is Literal else ()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
