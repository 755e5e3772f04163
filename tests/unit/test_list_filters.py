"""One list has one set of filters: in Python, in the HTTP API, on the command line, and on its page."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from cli.app import COMMANDS, app, load
from svc_pg import audit, webhooks
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console import Console, register_tenants
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.pages.webhooks.deliveries import OF_LIST
from svc_pg.settings import Settings

POSITIONS: Final = {"limit", "cursor", "before", "after", "around"}
"""Of a page among the others of its list: each surface goes on in its own way."""
MANNERS: Final = {
    *("conn", "config", "database_url", "json", "help", "dry_run", "do", "progress", "reason", "lift"),
    *("order", "only", "fields", "time", "format", "bucket", "to", "follow", "rebind", "unsettled"),
    "all",  # without the filter that a command has by itself
    "between",  # since and until in one
    "view",  # transactions or rows
    "from",  # an end of a comparison, as "to"
    *("newest", "facet"),  # how many are counted, and what
    "q",  # filters as one text
    "days",  # the words of the bar for since and until
    *(re.sub("([A-Z])", r"_\1", name).lower() for name in OF_LIST),  # of the list to which a change leads back
}
"""Parameters of the call and of the rows' look: none of them selects rows."""
SAME: Final = {
    "endpoint_id": "endpoint",  # the API says what is an id
    "message_id": "message",
    "id": "ids",  # boxes of a form, one for each row
    "table": "resource",  # the word of people who know the database
    "not_table": "not_resource",
    "containing": "contains",  # methods of a builder read as sentences do
    "with_words": "text",
    "with_fact": "context",
    "transactions": "transaction",
    "of_any_database": "all_databases",
    "no_actor": "missing",
}
"""Other names of the same filter."""


class Surfaces(NamedTuple):
    """The function or class, the operation, the command and the page of one list; None if there is none."""

    python: Callable[..., Any] | type | None
    http: str | None
    command: str | None
    page: str | None


# what begins with the same word is a list of the same rows
LISTS: Final[Mapping[str, Surfaces]] = {
    "deliveries": Surfaces(webhooks.deliveries.list, "get /webhooks/deliveries", "webhooks deliveries", "/deliveries"),
    "deliveries counted": Surfaces(webhooks.deliveries.count, "get /webhooks/deliveries/counts", None, None),
    "deliveries to retry": Surfaces(
        webhooks.deliveries.retry_all, "post /webhooks/deliveries/retry", "webhooks retry", "/deliveries/change"
    ),
    "deliveries to cancel": Surfaces(
        webhooks.deliveries.cancel_all, "post /webhooks/deliveries/cancel", "webhooks cancel", "/deliveries/change"
    ),
    "outages to recover from": Surfaces(
        webhooks.endpoints.recover, "post /webhooks/endpoints/{id}/recover", "webhooks recover", None
    ),
    "replays": Surfaces(webhooks.deliveries.replay, "post /webhooks/endpoints/{id}/replay", "webhooks replay", None),
    "endpoints": Surfaces(webhooks.endpoints.list, "get /webhooks/endpoints", "webhooks list", "/endpoints"),
    "health": Surfaces(webhooks.endpoints.health, "get /webhooks/endpoints/health", "webhooks health", None),
    "messages": Surfaces(webhooks.messages.list, "get /webhooks/messages", "webhooks messages", "/messages"),
    "traffic": Surfaces(webhooks.traffic.read, "get /webhooks/stats", "webhooks traffic", None),
    "entries": Surfaces(AuditQuery, "get /audit/entries", "log", "/audit"),
    "entries by transaction": Surfaces(None, "get /audit/transactions", None, None),
    "entries as they come": Surfaces(None, None, None, "/tail"),
    "entries to export": Surfaces(None, "get /audit/export", "export", "/audit/export"),
    "entries in statistics": Surfaces(None, "get /audit/stats", None, None),
    "entries in facets": Surfaces(None, "get /audit/facets", None, None),
    "coverage": Surfaces(audit.coverage, "get /audit/coverage", None, "/coverage"),
    "coverage counted": Surfaces(None, "get /audit/coverage/counts", None, None),
    "history of a record": Surfaces(None, "get /audit/records/{table}/{id}", None, "/audit/records/:table/:id"),
    "tracks of a record": Surfaces(
        None, "get /audit/records/{table}/{id}/tracks", None, "/audit/records/:table/:id/tracks"
    ),
    "a record with its rows": Surfaces(
        None, "get /audit/records/{table}/{id}/related", "related", "/audit/records/:table/:id/related"
    ),
    "reads of a record": Surfaces(None, "get /audit/records/{table}/{id}/reads", "reads", None),
    "reads of a table": Surfaces(None, "get /audit/tables/{table}/reads", None, None),
    "purges": Surfaces(audit.purge, "delete /audit/entries", "purge", None),
    "holds": Surfaces(audit.holds, "get /audit/holds", "hold", None),
    "tenants": Surfaces(None, "get /tenant/tenants", None, "/tenants"),
    "sessions": Surfaces(None, "get /account/sessions", "console sessions", "/sessions"),
    "sessions of one's own": Surfaces(None, "get /account/own-sessions", None, None),
    "tokens": Surfaces(None, "get /account/tokens", "console token list", "/tokens"),
    "views": Surfaces(None, "get /account/views", "console view list", "/views"),
    "activity": Surfaces(None, "get /account/events", None, "/activity"),
    "changes of our own tables": Surfaces(None, "get /account/data-changes", None, "/activity/changes"),
}

_ANOTHER_DATABASE: Final = {"all_databases": "the console serves the log of one database"}
_SEARCHES: Final = ("contains", "context", "text")
_WHILE_LISTING: Final = dict.fromkeys(_SEARCHES, "a search looks at a stretch of the log, page by page")
_ENDED_ROW: Final = {"ended": "the page shows what somebody has just ended above the list"}
_OWN: Final = _ENDED_ROW | {"whose": "the API has a route for each answer"}
_STATE: Final = {"state": "the command lists what is live, or --all"}
DIFFERENCES: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("deliveries counted", "http"): {"status": "each state is counted"},
    ("replays", "python"): {"endpoint": "it is the argument before the options"},
    ("replays", "http"): {"endpoint": "the path names it"},
    ("health", "command"): dict.fromkeys(
        ("health", "tenant", "needs_attention", "ids"), "it tells if anything needs somebody; webhooks list has filters"
    ),
    ("entries", "http"): _ANOTHER_DATABASE,
    ("entries", "page"): _ANOTHER_DATABASE,
    ("entries", "command"): _WHILE_LISTING,
    ("entries as they come", "page"): _ANOTHER_DATABASE,
    ("entries by transaction", "http"): _ANOTHER_DATABASE,
    ("entries to export", "http"): _ANOTHER_DATABASE,
    ("entries to export", "page"): _ANOTHER_DATABASE,
    ("entries to export", "command"): _WHILE_LISTING,
    ("entries in statistics", "http"): _ANOTHER_DATABASE | _WHILE_LISTING,
    ("entries in facets", "http"): _ANOTHER_DATABASE | _WHILE_LISTING,
    ("history of a record", "page"): dict.fromkeys(("since", "until"), "a record has one life, read from its end"),
    ("a record with its rows", "http"): {"at": "it is time and otherTime", "with": "it is otherTime"},
    ("a record with its rows", "command"): dict.fromkeys(("other_time", "with"), "it is --at, up to twice"),
    ("a record with its rows", "page"): dict.fromkeys(("at", "other_time"), "it is time and with")
    | {"steps": "the page tells of both, each in its table"},
    ("purges", "http"): _ANOTHER_DATABASE,
    ("holds", "command"): {"lifted": "it is --all"}
    | dict.fromkeys(("resource", "record"), "hold TABLE KEY places one; the list of all is short"),
    ("sessions", "http"): _OWN,
    ("sessions of one's own", "http"): _OWN,
    ("sessions", "command"): _OWN | _STATE,
    ("changes of our own tables", "page"): dict.fromkeys(
        ("resource", "record", "actor", "since", "until"), "the page is short, and the audit log has filters"
    ),
    ("tokens", "http"): _ENDED_ROW,
    ("tokens", "command"): _ENDED_ROW | _STATE,
}
"""The filters that a surface lacks, although another one of the same rows has them, each with the reason."""


def keywords(call: Callable[..., Any]) -> set[str]:
    """The keywords of a function that may be left out, with those of the TypedDict that it unpacks."""
    found: set[str] = set()
    for each in inspect.signature(call).parameters.values():
        if each.kind is each.VAR_KEYWORD:
            found |= {*get_type_hints(get_args(each.annotation)[0])}
        elif each.default is not each.empty:
            found.add(each.name)
    return found


def methods(query: Any) -> set[str]:
    """The methods of a builder, and what they leave out or ask at least."""
    found = {name for name in vars(query) if not name.startswith("_")}
    excluded = {f"not_{name}" for name in keywords(query.without)}
    return (found | excluded | {"min_severity"}) - {"list", "alist", "without"}


@cache
def document() -> Any:
    """The OpenAPI document of a console with all products."""
    given = {"console_connection_token_hash": "sha256:" + "c0ffee" * 8, "database_url": "postgresql://nowhere"}
    console = Console(Settings.load(env="test", console_auto_approve=True, **given))
    register_tenants(console)
    return console.openapi()


def operations() -> Iterator[tuple[str, set[str]]]:
    """Every operation of the API, with the names of its parameters and the fields of its body."""
    models = document()["components"]["schemas"]
    for path, methods_ in document()["paths"].items():
        for method, operation in methods_.items():
            names = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            model = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            yield f"{method} {path}", names | {*models.get(model, {}).get("properties", {})}


def commands() -> Iterator[tuple[str, set[str]]]:
    """Every command with its options."""

    def below(command: Any, *path: str) -> Iterator[tuple[str, set[str]]]:
        opts = {option for each in command.params for option in each.opts if option.startswith("--")}
        yield " ".join(path), {option.removeprefix("--") for option in opts}
        for name, each in getattr(command, "commands", {}).items():
            yield from below(each, *path, name)

    for name in COMMANDS:
        yield from below(load(name), name)


HTTP: Final = dict(operations())
OPTIONS: Final = dict(commands())
PAGES_OF: Final = {each.path: {*(each.filters or ()), *each.lists} for each in ROUTES if each.method == "GET"}


def canonical(names: Iterable[str]) -> set[str]:
    """The names of filters as the declarations have them, without what is no filter."""
    snake = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).replace("-", "_").lower() for name in names}
    return {SAME.get(name, name) for name in snake - POSITIONS - MANNERS}


def filters_on(list_: Surfaces) -> Mapping[str, set[str]]:
    """The filters of a list on each surface that it has."""
    python = methods if isinstance(list_.python, type) else keywords
    found = {
        "python": None if list_.python is None else python(list_.python),
        "http": None if list_.http is None else HTTP[list_.http],
        "command": None if list_.command is None else OPTIONS[list_.command],
        "page": None if list_.page is None else PAGES_OF[list_.page],
    }
    return {surface: canonical(names) for surface, names in found.items() if names is not None}


def test_a_list_has_the_same_filters_on_all_surfaces_or_says_why_not() -> None:
    every: dict[str, set[str]] = {}
    for name, list_ in LISTS.items():
        for names in filters_on(list_).values():
            every.setdefault(name.partition(" ")[0], set()).update(names)
    lacking = {
        (name, surface): every[name.partition(" ")[0]] - names
        for name, list_ in LISTS.items()
        for surface, names in filters_on(list_).items()
    }
    assert {at: names for at, names in lacking.items() if names} == {at: {*why} for at, why in DIFFERENCES.items()}


def test_no_list_is_left_out() -> None:
    """A list is what goes on after a page, or has a beginning in time."""

    def lists(found: Mapping[str, set[str]], *marks: str) -> set[str]:
        return {name for name, names in found.items() if canonical(names) and not names.isdisjoint(marks)}

    known = LISTS.values()
    assert lists(HTTP, "cursor", "since") <= {each.http for each in known}
    assert lists(OPTIONS, "after", "since") - {"evidence", "hold", "reconcile"} <= {each.command for each in known}
    assert lists(PAGES_OF, "cursor", "since") <= {each.page for each in known}


@pytest.mark.parametrize("found", [HTTP, OPTIONS, PAGES_OF], ids=["http", "command", "page"])
def test_what_has_a_beginning_in_time_has_an_end(found: Mapping[str, set[str]]) -> None:
    assert [name for name, names in found.items() if "since" in names and "until" not in names] == []


def test_each_command_with_a_beginning_and_an_end_has_both_in_one_option() -> None:
    assert [name for name, names in OPTIONS.items() if ("since" in names) != ("between" in names)] == []


@pytest.mark.parametrize("name", [each.command for each in LISTS.values() if each.command])
def test_a_filter_that_is_not_known_is_refused_by_the_command(name: str) -> None:
    done = CliRunner().invoke(app, [*name.split(), "--sicne", "1h"], prog_name="svc-pg")
    assert (done.exit_code, "--sicne" in done.output) == (2, True)
