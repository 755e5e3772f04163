"""The desired state of a database: audited tables and webhook events, from ``svc-pg.toml`` or from Python."""

import importlib
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from svc_pg.config.audit import AuditConfig
from svc_pg.config.audited_table import AuditedTable, EnrichmentRule
from svc_pg.config.change_events import OnChange
from svc_pg.config.condition import Condition
from svc_pg.config.model import StrictModel, validated
from svc_pg.config.products import Products
from svc_pg.config.webhooks import EventDefinition, Retry, WebhooksConfig
from svc_pg.errors import ConfigError, SvcError
from svc_pg.formats import toml

__all__ = [
    "AuditConfig",
    "AuditedTable",
    "Condition",
    "Config",
    "EnrichmentRule",
    "EventDefinition",
    "Grants",
    "OnChange",
    "Retry",
    "WebhooksConfig",
]

DEFAULT_FILE = Path("svc-pg.toml")

RoleName = Annotated[str, Field(min_length=1)]


class Grants(StrictModel):
    """Existing roles, by name, and their rights in this database.

    ``send`` calls ``svc.send``; ``read`` reads the audit log, messages, deliveries and endpoints without their secrets;
    ``admin`` may do everything, and is the role to connect as for ``svc-pg worker`` and the console. A role that is no
    longer named loses its rights with the next install. Capture needs no grant.
    """

    send: list[RoleName] = []
    read: list[RoleName] = []
    admin: list[RoleName] = []


class Config(StrictModel):
    """The desired state. ``install`` makes a database equal to it, ``status`` reports the differences.

    ``products`` are the products that the database has: ``["audit"]`` for the audit trail alone, ``["audit",
    "webhooks"]`` for both. Default: those that were installed before, and both in a new database.
    """

    products: Products | None = None
    audit: AuditConfig = Field(default_factory=AuditConfig)
    webhooks: WebhooksConfig = Field(default_factory=WebhooksConfig)
    grants: Grants = Field(default_factory=Grants)

    @classmethod
    def from_toml(cls, path: Path) -> "Config":
        """Read a TOML file. Raises ConfigError that names the file, the key path and the nearest valid name."""
        try:
            document = toml.parse(path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}: cannot be read: it is not UTF-8") from error
        except ValueError as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from error
        return validated(cls, document, source=str(path))

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
        except SvcError:
            raise
        except (Exception, SystemExit) as error:  # any error of the application's code, or a script's exit
            raise ConfigError(
                f"{reference}: cannot import {module_name!r}: {type(error).__name__}: {error}",
                hint="With --debug, svc-pg shows the line.",
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
            return cls.from_toml(DEFAULT_FILE) if os.path.lexists(DEFAULT_FILE) else cls()
        if ":" in reference and not Path(reference).exists():
            return cls.from_attribute(reference)
        return cls.from_toml(Path(reference))
