"""Suggestions for a text that somebody types: things that it may name, and actions, each with the page that has it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_args
from urllib.parse import parse_qsl, quote, unquote, urlencode

from svc_pg.formats.doc import Doc

MOST_CHARACTERS: Final = 200
"""The most characters of the text."""
LONGEST: Final = 200
"""The characters of a label, and of what is said about it."""

SuggestionKind = Literal[
    "entry",
    "transaction",
    "record",
    "table",
    "actor",
    "request",
    "endpoint",
    "event_type",
    "tenant",
    "view",
    "page",
    "action",
]
KINDS: Final[tuple[SuggestionKind, ...]] = get_args(SuggestionKind)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A thing, or an action on one. Its page has a form or asks first: the address alone changes nothing."""

    kind: Annotated[SuggestionKind, Doc("The kind of the thing; `action` for something to do.", "endpoint")]
    label: Annotated[str, Doc("Its name, or the action in words.", "Northwind's ERP")]
    about: Annotated[str, Doc("A note, or an empty text.", "active")]
    address: Annotated[
        str, Doc("The path of the page of the console, below the console.", "/ui/endpoints/0190c0de-7a11-7c01-8000-000")
    ]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggestions for a text, the surest first."""

    data: Annotated[Sequence[Suggestion], Doc("The suggestions: up to 40.")]
    remarks: Annotated[
        Sequence[str],
        Doc("The looks that reached their bound, in words.", ["The newest 10,000 endpoints were looked at."]),
    ]


Verb = Literal["pause", "resume", "test", "portal", "export", "through time"]
_COMMAND: Final = re.compile(
    r"(?P<verb>pause|resume|test|portal(?:\s+link)?(?:\s+for)?|export|through\s+time)(?:\s+(?P<rest>\S.*))?",
    re.IGNORECASE | re.DOTALL,
)
_RECORD: Final = re.compile(r"/audit/records/([^/?]+)/([^/?]+)(?:[/?].*)?")
_LOG: Final = re.compile(r"/(?:audit|tail)(?:\?(.*))?")
_PLACES: Final = frozenset({"cursor", "before", "around", "view", "after", "refused"})
_MOST_FILTERS: Final = 100


@dataclass(frozen=True, slots=True)
class Command:
    """A verb, and the text behind it."""

    verb: Verb
    rest: str


def command(text: str) -> Command | None:
    """The command that a text is: ``pause Northwind``, ``portal link for acme``, ``export this``, if it is one."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    word = " ".join(found["verb"].lower().split())
    verbs: Mapping[str, Verb] = {"pause": "pause", "resume": "resume", "test": "test", "export": "export"}
    verb: Verb = verbs.get(word) or ("through time" if word == "through time" else "portal")
    return Command(verb, (found["rest"] or "").strip())


def page(*segments: str, **query: Any) -> str:
    """The path of a page below the console."""
    path = "/".join(["/ui", *(quote(segment, safe="") for segment in segments)])
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def cut(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def exported(here: str) -> tuple[str, str] | None:
    """The subject of a page in words, and the address of the audit log with its filters, which has the files.

    ``here`` is the path of the page below ``/ui``, with its query. None of other pages, and of more than 100 filters.
    """
    if record := _RECORD.fullmatch(here):
        table, key = unquote(record[1]), unquote(record[2])
        return f"{table} {key}", page("audit", resource=table, record=key)
    if log := _LOG.fullmatch(here):
        try:
            filters = parse_qsl(log[1] or "", max_num_fields=_MOST_FILTERS)
        except ValueError:
            return None
        kept: dict[str, list[str]] = {}
        for name, value in filters:
            if name not in _PLACES:
                kept.setdefault(name, []).append(value)
        return "the audit log as it is filtered here", page("audit", **kept)
    return None
