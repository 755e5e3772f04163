"""The fields of an endpoint that people set: their types, their limits, and how their columns hold them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final, Literal, TypedDict, TypeVar, get_args
from uuid import UUID

from svc_pg.database.storable_texts import MAX_TENANT_BYTES, is_storable
from svc_pg.errors import EndpointError
from svc_pg.webhooks.http.guard import Guard, UrlBy, check_custom_headers
from svc_pg.webhooks.http.tls import Tls, check_tls
from svc_pg.webhooks.secrets import HEADERS_COLUMN, SIGNING_KEY_COLUMN, TLS_COLUMN, KeyRing
from svc_pg.webhooks.signing.signing_keys import new_signing_key, public_key

Status = Literal["active", "paused", "disabled"]
Ordering = Literal["none", "key", "strict"]
Signature = Literal["v1", "v1a"]

ORDERINGS: Final[tuple[Ordering, ...]] = get_args(Ordering)
SIGNATURES: Final[tuple[Signature, ...]] = get_args(Signature)
URL_BY: Final[tuple[UrlBy, ...]] = get_args(UrlBy)

_MAX_HEADERS: Final = 32
_MAX_HEADER_CHARACTERS: Final = 8192  # of all, names included: workers keep them, and send them with every attempt
_MAX_CHARACTERS: Final = 1000
_MAX_RATE: Final = 10_000
_NULLABLE: Final = frozenset({"filter", "rate_per_second", "tls"})

Choice = TypeVar("Choice")


class Options(TypedDict, total=False):
    """Optional fields of an endpoint; those that accept None can be reset to it.

    ``headers`` are sent with every attempt and cannot be read back. At most ``max_in_flight`` attempts are under way at
    a time (1 to 1000; the default is 8), each may take ``timeout`` (1 to 60 s; the default is 15 s), and at most
    ``rate_per_second`` begin within a second (1 to 10,000; the default is no limit).

    ``filter`` is an SQL/JSON path predicate: messages whose payload does not meet it are not sent to this endpoint.
    With ``ordering`` "key" or "strict" the messages of a key arrive one at a time, in their order. ``signatures`` are
    "v1" (a secret, the default), "v1a" (a key pair, whose public key the endpoint shows) or both. ``tls`` holds
    authorities to trust and a client certificate.

    ``url_by`` is the giver of the URL: the operator, which is the default for each new URL, or a customer, whose URLs
    lead to public addresses over https alone, unless the configuration has ``allow_for_customers``.
    """

    url_by: UrlBy
    description: str
    headers: Mapping[str, str]
    max_in_flight: int
    timeout: timedelta
    filter: str | None
    ordering: Ordering
    rate_per_second: int | None
    signatures: Sequence[Signature]
    tls: Tls | None


class Changes(Options, total=False):
    """Fields of an endpoint that may change. Omitted fields stay."""

    url: str
    events: Sequence[str]


def needs_keys(changes: Changes) -> bool:
    """True if one of these fields must be sealed."""
    return bool(changes.get("headers") or changes.get("tls") or "v1a" in (changes.get("signatures") or ()))


def columns(changes: Changes, *, endpoint_id: UUID, keys: KeyRing | None, guard: Guard) -> dict[str, object]:
    """The columns that the given fields change, as JSON. Raises EndpointError, with all fields that are not acceptable.

    Fields that must be sealed need ``keys``. The database checks events and filter.
    """
    if unknown := changes.keys() - Changes.__optional_keys__:
        raise TypeError(f"an endpoint has no option {', '.join(sorted(unknown))}")
    for name, value in changes.items():
        if value is None and name not in _NULLABLE:
            raise EndpointError(f"{name} cannot be None", hint="Leave it out to keep it.", field=name)

    def sealed(text: str, column: str) -> str:
        if keys is None:
            raise EndpointError(
                f"{column.rpartition('.')[2]} cannot be stored without keys that seal them",
                hint="Pass settings, which hold them.",
            )
        return in_json(keys.seal(text, owner=str(endpoint_id), column=column))

    found: dict[str, object] = {}
    errors: list[EndpointError] = []
    for name in changes:
        try:
            with about(name):
                found |= _columns_of(name, changes, guard, sealed)
        except EndpointError as error:
            errors.append(error)
    if errors:
        errors[0].others = errors[1:]
        raise errors[0]
    return found


@contextmanager
def about(field: str) -> Iterator[None]:
    """Name the field of an EndpointError."""
    try:
        yield
    except EndpointError as error:
        error.field = error.field or field
        raise


def _columns_of(name: str, changes: Changes, guard: Guard, sealed: Callable[[str, str], str]) -> dict[str, object]:
    match name:
        case "url":
            return {"url": guard.given_by(changes.get("url_by", "operator")).check_url(changes["url"])}
        case "url_by":
            return {"url_by": _one_of(URL_BY, changes["url_by"], "somebody who gives URLs")}
        case "events":
            if isinstance(changes["events"], str):
                raise EndpointError("the events are a text", hint=f"Give a list: [{changes['events']!r}].")
            return {"events": [check_text("an event", event) for event in changes["events"]]}
        case "description":
            return {"description": check_text("the description", changes["description"])}
        case "headers":
            headers = checked_headers(changes["headers"])
            return {"headers": sealed(json.dumps(headers), HEADERS_COLUMN) if headers else None}
        case "max_in_flight":
            return {"max_in_flight": _whole(changes["max_in_flight"], 1000, "max_in_flight is 1 to 1000")}
        case "timeout":
            return {"timeout": f"{_seconds(changes['timeout'])} s"}
        case "filter":
            return {"filter": changes["filter"] and check_text("the filter", changes["filter"])}
        case "ordering":
            return {"ordering": _one_of(ORDERINGS, changes["ordering"], "an ordering")}
        case "rate_per_second":
            return {"rate_per_second": _rate(changes["rate_per_second"])}
        case "signatures":
            return _signatures(changes["signatures"], sealed)
        case "tls":
            tls = changes["tls"]
            ends = None if tls is None else check_tls(tls)
            return {
                "tls": None if tls is None else sealed(tls.to_json(), TLS_COLUMN),
                "client_certificate_expires_at": None if ends is None else ends.isoformat(),
            }
        case _:
            raise AssertionError(f"no column is known for {name}")


def in_json(content: bytes) -> str:
    """Write bytes as text for a bytea column in JSON."""
    return f"\\x{content.hex()}"


def check_text(what: str, text: str) -> str:
    """The text. Raises EndpointError if it is no str or too long, or if PostgreSQL cannot store it."""
    if not isinstance(text, str):
        raise EndpointError(f"{what} is {text!r}, not a str", hint="Write str(...).")
    if len(text) > _MAX_CHARACTERS:
        raise EndpointError(f"{what} has {len(text)} characters", hint=f"At most {_MAX_CHARACTERS} are accepted.")
    if not is_storable(text):
        raise EndpointError(
            f"{what} contains NUL or a lone surrogate", hint="PostgreSQL cannot store it; leave it out."
        )
    return text


def check_tenant(tenant: str) -> None:
    """Raise EndpointError if no tenant can have this name."""
    with about("tenant"):
        if len(check_text("the tenant", tenant).encode()) > MAX_TENANT_BYTES:
            raise EndpointError(f"a tenant has at most {MAX_TENANT_BYTES} bytes", hint="No message has such a tenant.")
        if not tenant:
            raise EndpointError("the tenant is empty", hint="Leave it out to receive the messages of all tenants.")


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers. Raises EndpointError if they may not be sent."""
    if len(headers) > _MAX_HEADERS:
        raise EndpointError(f"there are {len(headers)} headers", hint=f"At most {_MAX_HEADERS} are accepted.")
    characters = sum(len(name) + len(value) for name, value in headers.items())
    if characters > _MAX_HEADER_CHARACTERS:
        raise EndpointError(
            f"the headers have {characters} characters", hint=f"At most {_MAX_HEADER_CHARACTERS} are accepted."
        )
    check_custom_headers(headers)
    return dict(headers)


def _signatures(wanted: Sequence[Signature], sealed: Callable[[str, str], str]) -> dict[str, object]:
    """The signatures, and a key pair, which the database stores unless the endpoint has one."""
    if isinstance(wanted, str) or not wanted:
        raise EndpointError("an endpoint needs a signature", hint=f"Give a list of {' and '.join(SIGNATURES)}.")
    chosen = {_one_of(SIGNATURES, each, "a signature") for each in wanted}
    found: dict[str, object] = {"signatures": sorted(chosen)}
    if "v1a" in chosen:
        key = new_signing_key()
        found |= {"signing_key": sealed(key, SIGNING_KEY_COLUMN), "public_key": public_key(key)}
    return found


def _rate(wanted: int | None) -> int | None:
    if wanted is None:
        return None
    hint = "An endpoint without it has no limit; to send nothing, pause the endpoint."
    return _whole(wanted, _MAX_RATE, f"rate_per_second is 1 to {_MAX_RATE}", hint=hint)


def _whole(number: int, most: int, message: str, *, hint: str | None = None) -> int:
    if not isinstance(number, int) or not 1 <= number <= most:
        raise EndpointError(message, hint=hint)
    return number


def _seconds(timeout: timedelta) -> float:
    if not isinstance(timeout, timedelta):
        raise EndpointError(f"timeout is {timeout!r}, not a timedelta", hint="Write timedelta(seconds=10).")
    if not timedelta(seconds=1) <= timeout <= timedelta(seconds=60):
        raise EndpointError("the timeout of an attempt is 1 to 60 s")
    return timeout.total_seconds()


def _one_of(known: Sequence[Choice], value: Choice, what: str) -> Choice:
    if value not in known:
        raise EndpointError(f"{value!r} is not {what}", hint=f"Write one of {', '.join(map(str, known))}.")
    return value
