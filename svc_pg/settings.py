"""Secrets and addresses of one running program, read from its environment and never written there."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from svc_pg import durations
from svc_pg.errors import ConfigError

Environment = Literal["production", "development", "test"]
Permission = Literal["read", "write", "admin"]

_PREFIX = "SVC_"


def _json_list(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError('not JSON; write a list such as ["first", "second"]') from error


def _token_hash(value: SecretStr) -> SecretStr:
    if not value.get_secret_value().startswith("sha256:"):
        raise ValueError("write sha256: and hexadecimal digits, not the connection token itself")
    return value


def _lifetime(value: object) -> timedelta:
    is_seconds = isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
    return durations.parse(f"{value}s" if is_seconds else value)


class Settings(BaseSettings):
    """What a program needs beside the desired state. Arguments win over the environment; an empty variable is unset.

    ``database_url`` is read from ``DATABASE_URL``; without it libpq's ``PG*`` name the database. Every other field is
    read from ``SVC_`` and its name in capitals; lists are JSON there. An unset ``SVC_ENV`` means production.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    database_url: SecretStr | None = Field(default=None, validation_alias="DATABASE_URL")
    encryption_keys: SecretStr | None = None
    env: Environment = "production"
    console_connection_token_hash: Annotated[SecretStr, AfterValidator(_token_hash)] | None = None
    console_auto_approve: bool = False
    console_allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_json_list)] = ()
    console_allowed_actions: Annotated[
        tuple[Permission, ...], NoDecode, BeforeValidator(_json_list), Field(min_length=1)
    ] = ("read", "write", "admin")
    console_token_lifetime: Annotated[timedelta, BeforeValidator(_lifetime)] = timedelta(hours=24)

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
    place = "".join(f"[{step}]" for step in steps if isinstance(step, int))
    return f"{variable}{place}: {details.get('ctx', {}).get('error', details['msg'])}"
