"""One list has one set of filters: in Python, in the HTTP API, on the command line, and on its page."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from cli.app import COMMANDS, app, load
from svc_pg import audit, webhooks
from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.console import Console, register_tenants
from svc_pg.console.event_log import EventFilter
from svc_pg.console.event_log import query as events
from svc_pg.console.pages.routes import ROUTES
from svc_pg.console.pages.visit import PAGES
from svc_pg.console.sign_in import api_tokens, sessions
from svc_pg.console.sign_in.lifetimes import LifeFilter
from svc_pg.database.filters import ListFilter, applied, filters_of
from svc_pg.settings import Settings
from svc_pg.webhooks.deliveries import delivery_queries
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.endpoints import endpoint_health, endpoint_queries
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.endpoints.endpoint_health import HealthFilter
from svc_pg.webhooks.messages import message_queries
from svc_pg.webhooks.messages.message_queries import MessageFilter

POSITIONS: Final = {"limit", "cursor", "before", "after", "around"}
"""Of a page among the others of its list; each surface goes on in its own way."""
MANNERS: Final = {"conn", "config", "database_url", "json", "help", "dry_run", "do", "progress"}
"""The way in which a call is made, which selects nothing."""
SAME: Final = {"endpoint_id": "endpoint", "message_id": "message", "table": "resource", "not_table": "not_resource"}
"""Other names of a filter: an id in the API ends so, and people know resources of the log as tables."""

Names = Collection[str] | None


class Surfaces(NamedTuple):
    """The names of the filters of one list; None if it is not there."""

    python: Names
    http: Names
    command: Names
    page: Names


def keywords(call: Callable[..., Any]) -> set[str]:
    """The keywords of a function, with those of the TypedDict that it unpacks."""
    found: set[str] = set()
    for each in inspect.signature(call).parameters.values():
        found |= {*get_args(each.annotation)[0].__annotations__} if each.kind is each.VAR_KEYWORD else {each.name}
    return found


def methods(query: type) -> set[str]:
    """The methods that add a condition, and what those leave out or ask at least that have such keywords."""
    found = {name for name in vars(query) if not name.startswith("_")} - {"list", "alist"}
    found |= {f"not_{name}" for name in keywords(query.without) - {"self"}}  # type: ignore[attr-defined]
    return found - {"without"} | {"min_severity"}


@cache
def document() -> Mapping[str, Any]:
    console = Console(Settings.load(env="test", console_auto_approve=True, console_connection_token_hash="sha256:" + "c0ffee" * 8, database_url="postgresql://nowhere"))
    register_tenants(console)
    return console.openapi()


def parameters(path: str, method: str = "get") -> set[str]:
    """The parameters of a route's query."""
    return {each["name"] for each in document()["paths"][path][method].get("parameters", ()) if each["in"] == "query"}


def body(path: str) -> set[str]:
    """The fields of a route's body."""
    content = document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return {*document()["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]["properties"]}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command, by its whole name."""

    def below(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
        yield " ".join(path), command
        for name, each in getattr(command, "commands", {}).items():
            yield from below(each, *path, name)

    for name in COMMANDS:
        yield from below(load(name), name)


ALL: Final = dict(commands())


def options(name: str) -> set[str]:
    """The options of a command, without their hyphens."""
    long = [option for each in ALL[name].params for option in each.opts if option.startswith("--")]
    return {option.removeprefix("--") for option in long}


def fields(path: str) -> set[str]:
    """The parameters in the address of a page."""
    [route] = [route for route in ROUTES if route.path == path and route.method == "GET"]
    return {*(route.filters or ()), *route.lists}


LISTS: Final[Mapping[str, Surfaces]] = {
    "deliveries": Surfaces(
        keywords(webhooks.deliveries.list),
        parameters("/webhooks/deliveries"),
        options("webhooks deliveries"),
        fields("/deliveries"),
    ),
    "counts of deliveries": Surfaces(
        keywords(webhooks.deliveries.count), parameters("/webhooks/deliveries/counts"), None, None
    ),
    "deliveries to retry": Surfaces(
        keywords(webhooks.deliveries.retry_all),
        body("/webhooks/deliveries/retry"),
        options("webhooks retry"),
        fields("/deliveries/change"),
    ),
    "deliveries to cancel": Surfaces(
        keywords(webhooks.deliveries.cancel_all),
        body("/webhooks/deliveries/cancel"),
        options("webhooks cancel"),
        fields("/deliveries/change"),
    ),
    "deliveries to recover": Surfaces(
        keywords(webhooks.endpoints.recover),
        body("/webhooks/endpoints/{id}/recover"),
        options("webhooks recover"),
        None,
    ),
    "messages to replay": Surfaces(
        keywords(webhooks.deliveries.replay),
        body("/webhooks/endpoints/{id}/replay"),
        options("webhooks replay"),
        None,
    ),
    "endpoints": Surfaces(
        keywords(webhooks.endpoints.list),
        parameters("/webhooks/endpoints"),
        options("webhooks list"),
        fields("/endpoints"),
    ),
    "health of endpoints": Surfaces(
        keywords(webhooks.endpoints.health),
        parameters("/webhooks/endpoints/health"),
        options("webhooks health"),
        None,
    ),
    "messages": Surfaces(
        keywords(webhooks.messages.list), parameters("/webhooks/messages"), options("webhooks messages"), None
    ),
    "traffic": Surfaces(
        keywords(webhooks.traffic.read), parameters("/webhooks/stats"), options("webhooks traffic"), None
    ),
    "entries": Surfaces(methods(AuditQuery), parameters("/audit/entries"), options("log"), fields("/audit")),
    "entries as they come": Surfaces(None, None, None, fields("/tail")),
    "entries to export": Surfaces(
        methods(AuditQuery), parameters("/audit/export"), options("export"), fields("/audit/export")
    ),
    "statistics of entries": Surfaces(None, parameters("/audit/stats"), None, None),
    "facets of entries": Surfaces(None, parameters("/audit/facets"), None, None),
    "entries to purge": Surfaces(
        keywords(audit.purge), parameters("/audit/entries", "delete"), options("purge"), None
    ),
    "holds": Surfaces(keywords(audit.holds), parameters("/audit/holds"), options("hold"), None),
    "tenants": Surfaces(None, parameters("/tenant/tenants"), None, fields("/tenants")),
    "sessions": Surfaces(
        None, parameters("/account/sessions"), options("console sessions"), fields("/sessions")
    ),
    "tokens": Surfaces(None, parameters("/account/tokens"), options("console token list"), fields("/tokens")),
    "activity": Surfaces(None, parameters("/account/events"), None, fields("/activity")),
}

_OUTSIDE: Final = "the builder of Python says more than a list of names can"
DIFFERENCES: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {}


def canonical(names: Names) -> set[str]:
    """The names of filters as Python has them."""
    snake = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).replace("-", "_").lower() for name in names or ()}
    return {SAME.get(name, name) for name in snake} - POSITIONS - MANNERS


def missing() -> Mapping[tuple[str, str], set[str]]:
    """The filters that a surface of a list lacks, although another one has them."""
    found = {}
    for name, surfaces in LISTS.items():
        every = set[str]().union(*map(canonical, surfaces))
        for kind, names in surfaces._asdict().items():
            if names is not None and (lacks := every - canonical(names)):
                found[name, kind] = lacks
    return found
