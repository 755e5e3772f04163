"""Make sure that rules are those that are installed: others may redact less."""

import json
from dataclasses import dataclass
from typing import Final

from svc_pg.config import Config
from svc_pg.config.installed_parts import check_rules
from svc_pg.database.effects import Effects
from svc_pg.database.query import Query, RawJson

_MAY_ASK: Final = """
select coalesce(has_function_privilege(to_regprocedure('svc.audit_installed_rules(bigint)')::oid, 'execute'), false)
       as may_ask
"""
_RULES: Final = "select revision, tables from svc.audit_installed_rules(%s)"


@dataclass(frozen=True, slots=True)
class _Permission:
    may_ask: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    revision: int
    tables: RawJson | None


@dataclass(slots=True)
class InstalledRules:
    """The rules of a configuration, which an installation may replace while they are used."""

    config: Config
    _may_ask: bool | None = None
    _revision: int | None = None

    def check(self) -> Effects[None]:
        """Raise ConfigError if they are not those that are installed. A role that may not ask is not told."""
        if self._may_ask is None:
            [permission] = yield Query(_MAY_ASK, (), _Permission)
            self._may_ask = permission.may_ask
        if not self._may_ask:
            return
        for found in (yield Query(_RULES, (self._revision,), _Rules)):
            tables = {} if found.tables is None else json.loads(found.tables)
            check_rules({"audit": {"tables": tables}}, self.config)
            self._revision = found.revision
