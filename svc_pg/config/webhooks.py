"""Which events exist, and how webhooks are delivered."""

from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from svc_pg import durations
from svc_pg.config.model import StrictModel, validated
from svc_pg.errors import ConfigError

_LONGEST_WAIT = timedelta(days=30)


def _network(value: object) -> IPv4Network | IPv6Network:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    try:
        return ip_network(str(value))
    except ValueError as error:
        raise ValueError(f"{error}; write a range such as 10.1.0.0/16 or fd00::/8") from error


def _retry(value: object) -> Literal["default", "long"] | list[timedelta]:
    if value in ("default", "long"):
        return value
    if isinstance(value, list) and 0 < len(value) <= 100:
        waits = [durations.parse(item) for item in value]
        if max(waits) <= _LONGEST_WAIT:
            return waits
        raise ValueError(f"{max(waits)} is longer than {_LONGEST_WAIT.days} days")
    raise ValueError(f'{value!r} is not a retry policy; write "default", "long" or a list of 1 to 100 durations')


Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Retry = Annotated[Literal["default", "long"] | list[timedelta], BeforeValidator(_retry)]
EventName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$", max_length=128)]


class EventDefinition(StrictModel):
    """An event that the application sends: words for people and, optionally, a JSON Schema of its payload."""

    description: str = ""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")


class WebhooksConfig(StrictModel):
    """Which events exist, and how they are delivered.

    ``retry`` is ``default`` (5 attempts), ``long`` (10 attempts over three days) or the list of waits between attempts.
    ``allow_cidrs`` opens address ranges that are otherwise refused as private.
    """

    allow_http: bool = False
    allow_cidrs: list[Network] = []
    retry: Retry = "default"
    events: dict[EventName, EventDefinition] = {}

    def event(self, name: str, *, description: str = "", schema: Mapping[str, Any] | None = None) -> None:
        """Define one more event. Raises ConfigError where it is defined already or the name is not acceptable."""
        if name in self.events:
            raise ConfigError(f'config.webhooks.event: event "{name}" is defined already')
        definition = {"description": description, "schema": None if schema is None else dict(schema)}
        checked = validated(WebhooksConfig, {"events": {name: definition}}, source="config.webhooks.event")
        self.events |= checked.events
