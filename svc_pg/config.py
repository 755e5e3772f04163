"""The desired state of a database: audited tables and webhook events, from ``svc-pg.toml`` or from Python."""

import importlib
import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from svc_pg import durations
from svc_pg.errors import ConfigError
from svc_pg.names import TableName

DEFAULT_FILE = Path("svc-pg.toml")


def _canonical_table(text: str) -> str:
    try:
        return str(TableName.parse(text))
    except ConfigError as error:
        raise ValueError(error.message) from error


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
        return [durations.parse(item) for item in value]
    raise ValueError(f'{value!r} is not a retry policy; write "default", "long" or a list of 1 to 100 durations')


TableText = Annotated[str, AfterValidator(_canonical_table)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Retry = Annotated[Literal["default", "long"] | list[timedelta], BeforeValidator(_retry)]
EventName = Annotated[str, Field(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$", max_length=128)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True, populate_by_name=True)


class AuditedTable(_Model):
    """One table whose changes are recorded. ``redact`` names columns whose values never reach the log."""

    name: TableText
    redact: list[str] = []


class AuditConfig(_Model):
    """What the audit log records."""

    tables: list[AuditedTable] = []

    @field_validator("tables")
    @classmethod
    def _each_once(cls, tables: list[AuditedTable]) -> list[AuditedTable]:
        names = [table.name for table in tables]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"named more than once: {', '.join(twice)}")
        return tables

    def table(self, name: str, *, redact: Sequence[str] = ()) -> None:
        """Audit one more table. Raises ConfigError where it is audited already or the name cannot be read."""
        table = _validated(AuditedTable, {"name": name, "redact": list(redact)}, source="config.audit.table")
        if any(other.name == table.name for other in self.tables):
            raise ConfigError(f'config.audit.table: table "{table.name}" is audited already')
        self.tables.append(table)


class EventDefinition(_Model):
    """An event that the application sends: words for people and, optionally, a JSON Schema of its payload."""

    description: str = ""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")


class WebhooksConfig(_Model):
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
        checked = _validated(WebhooksConfig, {"events": {name: definition}}, source="config.webhooks.event")
        self.events |= checked.events


class Config(_Model):
    """The desired state. ``install`` makes a database equal to it, ``status`` says what differs."""

    audit: AuditConfig = Field(default_factory=AuditConfig)
    webhooks: WebhooksConfig = Field(default_factory=WebhooksConfig)

    @classmethod
    def from_toml(cls, path: Path) -> "Config":
        """Read a TOML file. Raises ConfigError that names the file, the key path and the nearest valid name."""
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from error
        return _validated(cls, document, source=str(path))

    @classmethod
    def from_attribute(cls, reference: str) -> "Config":
        """Import ``module:attribute``, which must be a Config. Raises ConfigError."""
        module_name, _, attribute = reference.partition(":")
        if not all(part.isidentifier() for part in module_name.split(".")):
            raise ConfigError(
                f"{reference}: cannot import {module_name!r}: not the name of a module",
                hint="Write module:attribute, such as shop.svc:config.",
            )
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise ConfigError(
                f"{reference}: cannot import {module_name!r}: {error}",
                hint="Run in the folder that holds it, or install it.",
            ) from error
        found = getattr(module, attribute, None)
        if not isinstance(found, cls):
            configs = [name for name, value in vars(module).items() if isinstance(value, cls)]
            raise ConfigError(
                f"{reference}: {attribute!r} is not a svc_pg.Config",
                hint=f"{module_name} has: {', '.join(configs)}." if configs else None,
            )
        return found

    @classmethod
    def find(cls, reference: str | None = None) -> "Config":
        """Load ``FILE`` or ``module:attribute``; without one ``svc-pg.toml`` here, else an empty configuration."""
        if reference is None:
            return cls.from_toml(DEFAULT_FILE) if DEFAULT_FILE.exists() else cls()
        if ":" in reference and not Path(reference).exists():
            return cls.from_attribute(reference)
        return cls.from_toml(Path(reference))


Model = TypeVar("Model", bound=BaseModel)


def _validated(model: type[Model], values: Mapping[str, Any], *, source: str) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [f"{source}: {_problem(model, details)}" for details in error.errors()]
        raise ConfigError("\n".join(problems)) from error


def _problem(model: type[BaseModel], details: Mapping[str, Any]) -> str:
    """One problem in a line that begins with its key path; an unknown key comes with the nearest valid name."""
    path: tuple[int | str, ...] = details["loc"]
    if details["type"] == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        near = get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
        advice = f'did you mean "{near[0]}"?' if near else f"known keys: {', '.join(known)}"
        return f"{_key_path(path)}: unknown key; {advice}"
    if details["type"] == "missing":
        return f"{_key_path(path)}: missing"
    if details["type"] == "string_pattern_mismatch":
        return f"{_key_path(path)}: not an event name; write lower-case words with dots, such as order.created"
    return f"{_key_path(path)}: {details.get('ctx', {}).get('error', details['msg'])}"


def _key_path(path: Sequence[int | str]) -> str:
    """("audit", "tables", 0, "name") -> audit.tables[0].name"""
    text = ""
    for step in path:
        if step == "[key]":
            continue
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f'."{step}"' if "." in step else f".{step}"
    return text.removeprefix(".") or "(top level)"


def _keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    kind: Any = model
    for step in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            fields = {field.alias or name: field for name, field in kind.model_fields.items()}
            kind = fields[str(step)].annotation
        else:
            kind = get_args(kind)[-1]  # list[X] and dict[str, X] hold an X
    return [field.alias or name for name, field in kind.model_fields.items()]
