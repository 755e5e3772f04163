"""The commands ``webhooks add`` and ``webhooks update``: the fields of endpoints."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, TypedDict, Unpack, cast

import typer

from svc_pg import Config, Settings
from svc_pg.database.query import fetch_one
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_fields import ORDERINGS, SIGNATURES, URL_BY, Changes, needs_keys
from svc_pg.webhooks.endpoints.endpoint_rows import EndpointWithSecret
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.secrets import KeyRing

from .. import new_tenant, output, records
from ..completion import events, one_of
from ..database import connect
from ..named_ids import EndpointName, endpoint_id, tenant_id
from ..operator import change, operator
from ..options import ConfigReference, Json, PostgresUrl, duration
from ..shared_options import shared_options

app = typer.Typer()

_READ: Final = frozenset({"header", "signature", "ca_bundle", "client_certificate", "client_key"})
"""Options whose fields have other names, or are read from files."""
_REMOVED: Final[Mapping[str, object]] = {"headers": {}, "filter": None, "rate-per-second": None, "tls": None}

Events = typer.Option(metavar="EVENT", help='An event, "order.*" or "*". Repeat it for more.', autocompletion=events)
Url = typer.Option(metavar="URL", help="The address to POST to.", show_default=False)


class Fields(TypedDict, total=False):
    """The options of both commands."""

    description: Annotated[str | None, typer.Option(metavar="TEXT", help="A note for people.")]
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEADER", help='Send this too, for example "Authorization: Bearer x". Repeat it for more.'
        ),
    ]
    timeout: Annotated[
        timedelta | None, duration(meaning="The limit of an attempt, 1s to 60s. A new endpoint has 15s.")
    ]
    max_in_flight: Annotated[
        int | None,
        typer.Option(metavar="N", help="The most attempts under way at a time, 1 to 1000. A new endpoint has 8."),
    ]
    filter: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Send only messages that meet this SQL/JSON path, for example '$.total > 9'."
        ),
    ]
    ordering: Annotated[
        str | None,
        typer.Option(
            metavar="ORDERING",
            help="Write key to send the messages of a key in order, strict to block a key if one fails, none for no"
            " order. A new endpoint has none.",
            autocompletion=one_of(*ORDERINGS),
        ),
    ]
    rate_per_second: Annotated[
        int | None, typer.Option(metavar="N", help="The most attempts that begin in a second, 1 to 10000.")
    ]
    signature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION",
            help="Sign with v1 (a secret) or v1a (a key pair). Repeat it for both. A new endpoint has v1.",
            autocompletion=one_of(*SIGNATURES),
        ),
    ]
    ca_bundle: Annotated[Path | None, typer.Option(metavar="FILE", help="The authorities to trust, in PEM.")]
    client_certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The client certificate to show, in PEM, with those above it.")
    ]
    client_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The private key of the client certificate, in PEM.")
    ]
    url_by: Annotated[
        str | None,
        typer.Option(
            metavar="WHO",
            help="Write customer for the URL of a customer, which leads to public addresses alone. Default for a new "
            "URL: operator.",
            autocompletion=one_of(*URL_BY),
        ),
    ]


@app.command()
@shared_options(Fields)
def add(
    *,
    url: Annotated[str, Url],
    event: Annotated[list[str], Events],
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Send only messages of this tenant.")] = None,
    database_url: PostgresUrl = None,
    config: ConfigReference = None,
    json: Json = False,
    **options: Unpack[Fields],
) -> None:
    """Register an endpoint, and print its secret. It is not shown again."""
    fields = _given(options, url=url, events=event)
    guard = Guard.of(Config.find(config).webhooks)
    tenant = None if tenant is None else tenant_id(tenant, database_url)
    new = endpoints.create(**fields, tenant=tenant, keys=KeyRing.of(Settings.load()), guard=guard)
    with connect(database_url) as conn, operator(conn):
        is_first = tenant is not None and new_tenant.is_new(conn, tenant)
        show_secret(fetch_one(conn, new), as_json=json)
    if tenant is not None and is_first:
        new_tenant.tell(tenant)


@app.command()
@shared_options(Fields)
def update(
    endpoint: EndpointName,
    *,
    url: Annotated[str | None, Url] = None,
    event: Annotated[list[str] | None, Events] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Remove the headers, filter, rate-per-second or tls. Repeat it for more.",
            autocompletion=one_of(*_REMOVED),
        ),
    ] = None,
    database_url: PostgresUrl = None,
    config: ConfigReference = None,
    json: Json = False,
    **options: Unpack[Fields],
) -> None:
    """Change the fields of an endpoint that the options name. Events, headers, signatures and TLS files replace all."""
    changes = _given(options, url=url, events=event)
    for name in remove or ():
        if name not in _REMOVED:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(_REMOVED)}", param_hint="--remove")
        field = name.replace("-", "_")
        if field in changes:
            raise typer.BadParameter(f"{name} is given and removed", param_hint="--remove")
        changes = cast(Changes, {**changes, field: _REMOVED[name]})
    keys = KeyRing.of(Settings.load()) if needs_keys(changes) else None
    guard = Guard.of(Config.find(config).webhooks)
    key = endpoint_id(endpoint, database_url)
    change(endpoints.update(key, keys=keys, guard=guard, **changes), database_url, as_json=json)


def show_secret(endpoint: EndpointWithSecret, *, as_json: bool) -> None:
    """Print the new secret of an endpoint, and its public key if it has one."""
    shown = {"id": endpoint.id, "url": endpoint.url, "events": endpoint.events, "secret": endpoint.secret}
    if endpoint.public_key:
        shown["publicKey" if as_json else "public_key"] = endpoint.public_key
    if as_json:
        records.show_json(shown)
        return
    records.show(shown)
    if "v1" in endpoint.signatures:
        output.words("The secret is shown only now. Give it to the receiver, who verifies signatures with it.")
    else:
        output.words("The receiver verifies signatures with the public key. The secret, shown only now, is for v1.")


def _given(options: Fields, **given: object) -> Changes:
    """The fields that the options name."""
    given |= options
    given["headers"] = _headers(options.get("header") or ())
    given["signatures"] = options.get("signature")
    given["tls"] = _tls(options)
    return cast(
        Changes, {name: each for name, each in given.items() if name not in _READ and each not in (None, [], {})}
    )


def _headers(texts: Iterable[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for text in texts:
        name, separator, value = (part.strip() for part in text.partition(":"))
        if not separator:
            raise typer.BadParameter(f"{text!r} is not a header; write Name: value", param_hint="--header")
        if name.lower() in map(str.lower, headers):
            raise typer.BadParameter(f"header {name!r} occurs twice", param_hint="--header")
        headers[name] = value
    return headers


def _tls(options: Fields) -> Tls | None:
    files = options.get("ca_bundle"), options.get("client_certificate"), options.get("client_key")
    texts = [None if file is None else _text(file) for file in files]
    return Tls(*texts) if any(text is not None for text in texts) else None


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}") from error
