"""Secrets and addresses of one running program, read from its environment and never written there."""

import os
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from svc_pg.errors import ConfigError, combined
from svc_pg.formats.pydantic_errors import reason
from svc_pg.settings.console_check import console_problems
from svc_pg.settings.signing_key import PREVIOUS_HASH_VARIABLE, signing_key
from svc_pg.settings.types import (
    Colour,
    DatabaseUrl,
    Email,
    EmailOrPattern,
    EncryptionKeys,
    HeaderName,
    Lifetime,
    Logo,
    Network,
    Origin,
    PageUrl,
    SealKey,
    SealPublicKeys,
    SmtpUrl,
    TimestampUrl,
    TokenHash,
    json_list,
    json_map,
    one_permission_each,
)

Environment = Literal["production", "development", "test"]
Permission = Literal["read", "write", "admin"]

_PREFIX: Final = "SVC_"
_FILES_VARIABLE: Final = "SVC_SECRETS_DIR"


class Settings(BaseSettings):
    """Settings of a program, beside the desired state. Arguments win over the environment; an empty variable is unset.

    ``database_url`` is read from ``DATABASE_URL``; without it libpq's ``PG*`` name the database. Every other field is
    read from ``SVC_`` and its name in capitals; lists and maps are JSON there. An unset ``SVC_ENV`` means production.
    If ``SVC_SECRETS_DIR`` names a folder, a file with a variable's name holds its value; the environment wins over it.

    ``console_allowed_origins`` defaults to the origin of ``console_public_url``, the console's front end.
    ``console_allowed_emails`` maps an address or ``*@domain`` to a permission; an exact address wins. A number as
    ``console_token_lifetime`` is in seconds. The other fields are described on the page The console.
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_ignore_empty=True, frozen=True, populate_by_name=True, hide_input_in_errors=True
    )

    database_url: DatabaseUrl | None = Field(default=None, validation_alias="DATABASE_URL")
    audit_log_url: DatabaseUrl | None = None
    encryption_keys: EncryptionKeys | None = None
    seal_key: SealKey | None = None
    seal_public_keys: SealPublicKeys | None = None
    seal_timestamp_url: TimestampUrl | None = None
    seal_timestamp_ca: Path | None = None
    env: Environment = "production"
    console_connection_token_hash: TokenHash | None = None
    console_previous_connection_token_hash: TokenHash | None = None
    console_auto_approve: bool = False
    console_allowed_origins: Annotated[tuple[Origin, ...] | None, NoDecode, BeforeValidator(json_list)] = None
    console_allowed_actions: Annotated[
        tuple[Permission, ...], NoDecode, BeforeValidator(json_list), Field(min_length=1)
    ] = ("read", "write", "admin")
    console_allowed_emails: Annotated[
        Mapping[EmailOrPattern, Permission],
        NoDecode,
        BeforeValidator(one_permission_each),
        BeforeValidator(json_map),  # pydantic begins with the last
    ] = Field(default_factory=dict)
    console_token_lifetime: Lifetime = timedelta(hours=24)
    console_idle_timeout: Lifetime = timedelta(hours=8)
    console_max_attempts: Annotated[int, Field(ge=1, le=20)] = 5
    console_smtp_url: SmtpUrl | None = None
    console_mail_from: Email | None = None
    console_public_url: PageUrl | None = None
    console_trusted_proxies: Annotated[tuple[Network, ...], NoDecode, BeforeValidator(json_list)] = ()
    console_proxy_user_header: HeaderName | None = None
    portal_title: Annotated[str, Field(min_length=1, max_length=100)] = "Webhooks"
    portal_accent: Colour | None = None
    portal_logo: Logo | None = None
    portal_frame_ancestors: Annotated[tuple[Origin, ...], NoDecode, BeforeValidator(json_list)] = ()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic gives it; .env files are not read
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then files. Raises ConfigError if their folder is missing."""
        folder = os.environ.get(_FILES_VARIABLE)
        if not folder:
            return init_settings, env_settings, file_secret_settings
        if not Path(folder).is_dir():
            raise ConfigError(f"{_FILES_VARIABLE}: {folder!r} is not a folder")
        return init_settings, env_settings, SecretsSettingsSource(settings_cls, folder)

    @classmethod
    def load(cls, **overrides: object) -> Self:
        """Read the environment. Raises ConfigError that names the variable of every problem, and no secret value.

        If a console is configured, the error also names the readable settings that its start would refuse, and has the
        class of that problem: ConsoleWeakSecretError or ConsoleAutoApproveInProductionError.
        """
        values: dict[str, Any] = overrides
        try:
            return cls(**values)
        except SettingsError as error:  # of a file that cannot be read
            raise ConfigError(f"{_FILES_VARIABLE}: {error}: {error.__cause__}") from error
        except ValidationError as error:
            problems = [_problem(details) for details in error.errors()]
            unreadable = {_field(str(details["loc"][0])) for details in error.errors()}
            readable = cls._readable(values, unreadable)
            if any(name.startswith("console_") for name in readable.model_fields_set):
                problems += console_problems(readable, unreadable=unreadable)
            raise combined(problems) from error

    @classmethod
    def _readable(cls, values: Mapping[str, Any], unreadable: Collection[str]) -> Self:
        """The settings, with defaults for unreadable ones."""
        fields = cls.model_fields
        known = {name: value for name, value in values.items() if name in fields}
        defaults = {name: fields[name].get_default(call_default_factory=True) for name in unreadable if name in fields}
        return cls(**known | defaults)


def signing_keys(settings: Settings) -> list[bytes]:
    """The key that signs sessions, and the previous one, if its sessions should go on.

    Raises as ``signing_key`` does.
    """
    is_production = settings.env == "production"
    keys = [signing_key(settings.console_connection_token_hash, is_production=is_production)]
    if (previous := settings.console_previous_connection_token_hash) is not None:
        keys.append(signing_key(previous, is_production=is_production, variable=PREVIOUS_HASH_VARIABLE))
    return keys


def _problem(details: Mapping[str, Any]) -> ConfigError:
    name, *steps = details["loc"]
    if details["type"] == "extra_forbidden":
        return ConfigError(f"{name}: unknown setting; known are {', '.join(Settings.model_fields)}")
    field = _field(name)
    variable = Settings.model_fields[field].validation_alias or _PREFIX + field.upper()
    path = "".join(f"[{step}]" for step in steps if step != "[key]")
    return ConfigError(f"{variable}{path}: {reason(details)}")


def _field(name: str) -> str:
    """The field that an error names, which it may do by its variable."""
    return next((field for field, info in Settings.model_fields.items() if info.validation_alias == name), name)
