"""Secrets and addresses of one running program, read from its environment and never written there."""

import json
from collections.abc import Mapping
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from svc_pg import addresses, durations
from svc_pg.errors import ConfigError
from svc_pg.validation import reason

Environment = Literal["production", "development", "test"]
Permission = Literal["read", "write", "admin"]

MAX_TOKEN_LIFETIME: Final = timedelta(days=365)

_PREFIX: Final = "SVC_"


def _json_list(value: object) -> object:
    return _json(value, example='["first", "second"]')


def _json_map(value: object) -> object:
    return _json(value, example='{"ann@corp.example": "admin", "*@corp.example": "read"}')


def _json(value: object, *, example: str) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, object_pairs_hook=_without_repetition)
    except ValueError as error:
        raise ValueError(f"not JSON, or a name occurs twice; write such as {example}") from error


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def _one_permission_each(value: object) -> object:
    """Addresses are compared in lower case, so two spellings of one would be two permissions."""
    if isinstance(value, Mapping) and len({str(email).lower() for email in value}) < len(value):
        raise ValueError("an address occurs twice, in capital and small letters")
    return value


def _network(value: object) -> object:
    return ip_network(value) if isinstance(value, str) else value


def _database_url(value: SecretStr) -> SecretStr:
    return SecretStr(addresses.libpq(value.get_secret_value()))


def _token_hash(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith("sha256:"):
        raise ValueError("write sha256: and hexadecimal digits, not the connection token itself")
    return value


def _lifetime(value: object) -> timedelta:
    is_seconds = isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
    lifetime = durations.parse(f"{value}s" if is_seconds else value)
    if not timedelta(seconds=1) <= lifetime <= MAX_TOKEN_LIFETIME:
        raise ValueError("a session lasts between a second and 365 days")
    return lifetime


def _smtp_url(value: SecretStr) -> SecretStr:
    addresses.SmtpServer.parse(value.get_secret_value())
    return value


def _email(value: str) -> str:
    if not addresses.is_email(value):
        raise ValueError("write one e-mail address, without a display name")
    return value


class Settings(BaseSettings):
    """What a program needs beside the desired state. Arguments win over the environment; an empty variable is unset.

    ``database_url`` is read from ``DATABASE_URL``; without it libpq's ``PG*`` name the database. Every other field is
    read from ``SVC_`` and its name in capitals; lists and maps are JSON there. An unset ``SVC_ENV`` means production.

    ``console_allowed_emails`` maps an address or ``*@domain`` to a permission; an exact address wins. In the lifetime
    of a session a number is seconds. The rest is described in docs/console.md.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    database_url: Annotated[SecretStr, AfterValidator(_database_url)] | None = Field(
        default=None, validation_alias="DATABASE_URL"
    )
    encryption_keys: SecretStr | None = None
    env: Environment = "production"
    console_connection_token_hash: Annotated[SecretStr, AfterValidator(_token_hash)] | None = None
    console_auto_approve: bool = False
    console_allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_json_list)] = ()
    console_allowed_actions: Annotated[
        tuple[Permission, ...], NoDecode, BeforeValidator(_json_list), Field(min_length=1)
    ] = ("read", "write", "admin")
    console_allowed_emails: Annotated[
        Mapping[Annotated[str, AfterValidator(addresses.email_or_pattern)], Permission],
        NoDecode,
        BeforeValidator(_one_permission_each),
        BeforeValidator(_json_map),  # pydantic begins with the last
    ] = Field(default_factory=dict)
    console_token_lifetime: Annotated[timedelta, BeforeValidator(_lifetime)] = timedelta(hours=24)
    console_max_attempts: Annotated[int, Field(ge=1, le=20)] = 5
    console_smtp_url: Annotated[SecretStr, AfterValidator(_smtp_url)] | None = None
    console_mail_from: Annotated[str, AfterValidator(_email)] | None = None
    console_public_url: Annotated[str, AfterValidator(addresses.page_url)] | None = None
    console_trusted_proxies: Annotated[
        tuple[Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)], ...],
        NoDecode,
        BeforeValidator(_json_list),
    ] = ()

    @classmethod
    def load(cls, **overrides: object) -> Self:
        """Read the environment. Raises ConfigError that names the variable of every problem, and no secret value."""
        values: dict[str, Any] = overrides
        try:
            return cls(**values)
        except ValidationError as error:
            raise ConfigError("\n".join(_problem(details) for details in error.errors())) from error


def _problem(details: Mapping[str, Any]) -> str:
    name, *steps = details["loc"]
    if details["type"] == "extra_forbidden":
        return f"{name}: unknown setting; known are {', '.join(Settings.model_fields)}"
    field = Settings.model_fields.get(name)
    variable = name if field is None else _PREFIX + name.upper()
    place = "".join(f"[{step}]" for step in steps if step != "[key]")
    return f"{variable}{place}: {reason(details)}"
