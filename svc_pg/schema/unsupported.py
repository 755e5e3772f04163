"""Refuse a configuration with features that only PostgreSQL has."""

from collections.abc import Iterable, Iterator

from svc_pg.config import AuditedTable, Config
from svc_pg.errors import ConfigError


def refuse_unsupported(config: Config, database: str, others: Iterable[str] = ()) -> None:
    """Raise ConfigError that names everything unsupported by ``database``; ``others`` are its own refusals."""
    problems = [*_of_config(config), *(text for table in config.audit.tables for text in _of_table(table)), *others]
    if problems:
        raise ConfigError(
            "\n".join(f"{problem}: {database} cannot do that" for problem in problems),
            hint='"Databases" in the documentation says what works on which. Write a configuration for each.',
        )


def _of_config(config: Config) -> Iterator[str]:
    if "webhooks" in (config.products or ()):
        yield "products: webhooks are sent from PostgreSQL"
    if config.webhooks.events or config.webhooks.change_events:
        yield "webhooks: events are sent from PostgreSQL"
    if any((config.grants.send, config.grants.read, config.grants.admin)):
        yield "grants: its rights are given by the database itself"
    if config.audit.search:
        yield "audit.search: indexes of searches are PostgreSQL's"
    if "indexes" in config.audit.model_fields_set:
        yield "audit.indexes: its log has the indexes that all reads need"
    if config.audit.partitions != "month":
        yield "audit.partitions: its log is one table"
    if config.audit.ddl:
        yield "audit.ddl: it needs event triggers"
    if config.audit.erasure:
        yield "audit.erasure: entries are erased from PostgreSQL's log"


def _of_table(table: AuditedTable) -> Iterator[str]:
    where = f'table "{table.name}"'
    if table.level == "statement":
        yield f'{where}: level = "statement" needs transition tables'
    if table.replica:
        yield f"{where}: replica is about PostgreSQL's logical replication"
    if any(condition.has_sql for condition in table.conditions):
        yield f"{where}: a condition in SQL is written for PostgreSQL's jsonb"
