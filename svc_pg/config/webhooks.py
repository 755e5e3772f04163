"""The configuration of webhooks: their events and their delivery."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from svc_pg.config.change_events import OnChange
from svc_pg.config.model import StrictModel, validated
from svc_pg.errors import ConfigError
from svc_pg.formats import durations

_LONGEST_WAIT = timedelta(days=30)

_SEALED = "audit.sealed"
MAX_SEARCH_KEY: Final = 128
"""The most characters of a key by which payloads are searched."""
_SEARCH_KEY: Final = re.compile(r"[\w$-]+(\.[\w$-]+)*")


def _network(value: object) -> IPv4Network | IPv6Network:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    try:
        return ip_network(str(value))
    except ValueError as error:
        raise ValueError(f"{error}; write a range such as 10.1.0.0/16 or fd00::/8") from error


def _proxy(value: str) -> str:
    try:
        url = urlsplit(value)
        has_user_id = ":" not in unquote(url.username or "")  # RFC 7617, 2: the password would begin there
        is_address = url.scheme == "http" and bool(url.hostname) and url.port != 0 and has_user_id
    except ValueError:
        is_address = False
    if not is_address or url.path not in ("", "/") or url.query or url.fragment:
        raise ValueError("not the address of a proxy; write http://host:port or http://user:password@host:port")
    return value


def _retry(value: object) -> Literal["default", "long"] | list[timedelta]:
    if value in ("default", "long"):
        return value
    if isinstance(value, list) and 0 < len(value) <= 100:
        waits = [durations.parse(item) for item in value]
        if max(waits) <= _LONGEST_WAIT:
            return waits
        raise ValueError(f"{max(waits)} is longer than {_LONGEST_WAIT.days} days")
    raise ValueError(f'{value!r} is not a retry policy; write "default", "long" or a list of 1 to 100 durations')


def _json_schema(value: dict[str, Any] | None) -> dict[str, Any] | None:
    if value is not None:
        from jsonschema import SchemaError  # imported only if there is a schema, because it takes time
        from jsonschema.validators import validator_for

        try:
            json.dumps(value, allow_nan=False)
            if not isinstance(value.get("$schema", ""), str):
                raise ValueError("$schema is not a text")
            validator_for(value).check_schema(value)
        except SchemaError as error:
            raise ValueError(f"not a JSON Schema: {error.message} at {error.json_path}") from error
        except (TypeError, ValueError) as error:  # a time of TOML, or a number that JSON cannot have
            raise ValueError(f"not a JSON Schema: {error}") from error
        except RecursionError as error:
            raise ValueError("not a JSON Schema: it is nested too deeply") from error
    return value


def _not_ours(name: str) -> str:
    if name.startswith("webhook."):
        raise ValueError('events that begin with "webhook." are svc-pg\'s own; choose another name')
    if name == _SEALED:
        raise ValueError(f'"{_SEALED}" is an event of svc-pg itself; choose another name')
    return name


def _search_key(key: str) -> str:
    if len(key) > MAX_SEARCH_KEY or not _SEARCH_KEY.fullmatch(key):
        raise ValueError(
            f"{key[:40]!r} is not a key to search by; write the names of members with dots between them, such as"
            f" customer.id, of letters, digits, _, - and $, in {MAX_SEARCH_KEY} characters at most"
        )
    return key


Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Proxy = Annotated[str, AfterValidator(_proxy)]
Retry = Annotated[Literal["default", "long"] | list[timedelta], BeforeValidator(_retry)]
SearchKey = Annotated[str, AfterValidator(_search_key)]
EventName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$", max_length=128), AfterValidator(_not_ours)]


class EventDefinition(StrictModel):
    """An event that the application sends.

    - ``description``: a note for people.
    - ``schema``: the JSON Schema of its payload, which ``send`` checks in Python.
    - ``search``: up to 8 keys of the payload by whose values messages and deliveries are found, for example
      ``["number", "customer.id"]``.
    """

    description: str = ""
    json_schema: Annotated[dict[str, Any] | None, AfterValidator(_json_schema)] = Field(default=None, alias="schema")
    search: list[SearchKey] = Field(default=[], max_length=8)

    @field_validator("search")
    @classmethod
    def _once(cls, keys: list[str]) -> list[str]:
        for index, key in enumerate(keys):
            if key in keys[:index]:
                raise ValueError(f'the key "{key}" twice')
        return keys


class WebhooksConfig(StrictModel):
    """The events that exist, and the options of their delivery.

    - ``retry``: ``default`` (5 attempts over two hours), ``long`` (10 attempts over three days) or the list of waits
      between attempts.
    - ``allow_cidrs``, ``allow_http``: address ranges that URLs of operators may lead to although they are private, and
      plain http for them; with ``allow_for_customers`` the same for URLs of customers.
    - ``proxy``: an egress proxy that all POSTs go through.
    - ``keep_delivered``, ``keep_failed``: the retention of delivered deliveries, and of failed and canceled ones.
    - ``change_events``, spelled ``on_change`` in TOML: the rules that send changes of tables.
    """

    allow_http: bool = False
    allow_cidrs: list[Network] = []
    allow_for_customers: bool = False
    proxy: Proxy | None = None
    retry: Retry = "default"
    keep_delivered: durations.Duration = timedelta(days=7)
    keep_failed: durations.Duration = timedelta(days=30)
    events: dict[EventName, EventDefinition] = {}
    change_events: list[OnChange] = Field(default=[], alias="on_change")

    @field_validator("change_events")
    @classmethod
    def _of_known_events(cls, rules: list[OnChange], info: ValidationInfo) -> list[OnChange]:
        known = info.data.get("events")
        for index, rule in enumerate(rules):
            if known is not None and rule.event not in known:
                near = get_close_matches(rule.event, known, n=1)
                advice = f'did you mean "{near[0]}"?' if near else f"defined: {', '.join(known) or 'none'}"
                raise ValueError(f'event "{rule.event}" is not defined; {advice}')
            if rule in rules[:index]:
                raise ValueError(f"the same rule twice, for {rule.table} and {rule.event}")
        return rules

    def event(
        self,
        name: str,
        *,
        description: str = "",
        schema: Mapping[str, Any] | None = None,
        search: Sequence[str] = (),
    ) -> None:
        """Define one more event; the options are the fields of EventDefinition.

        Raises ConfigError if it is defined already, or if its name or an option is not acceptable.
        """
        if name in self.events:
            raise ConfigError(f'config.webhooks.event: event "{name}" is defined already')
        definition = {
            "description": description,
            "schema": None if schema is None else dict(schema),
            "search": [*search],
        }
        checked = validated(WebhooksConfig, {"events": {name: definition}}, source="config.webhooks.event")
        self.events |= checked.events

    def on_change(self, table: str, operation: str | Sequence[str], *, event: str, **options: Any) -> None:
        """Send an event for changes of a table; the other options are the fields of OnChange.

        Raises ConfigError if the event is not defined, the rule repeats another or an option is not acceptable.
        """
        source = "config.webhooks.on_change"
        operations = [operation] if isinstance(operation, str) else list(operation)
        values = {"table": table, "operation": operations, "event": event} | options
        rule = validated(OnChange, values, source=source)
        checked = validated(
            WebhooksConfig, {"events": self.events, "on_change": [*self.change_events, rule]}, source=source
        )
        self.change_events = checked.change_events
