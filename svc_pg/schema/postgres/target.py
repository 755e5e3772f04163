"""The target of an install: the functions, views, triggers and event types that a configuration asks for."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from psycopg import Connection

from svc_pg.capture.erasure import check_erasure
from svc_pg.capture.postgres.cascades import check_cascades
from svc_pg.capture.postgres.catalog import read_tables
from svc_pg.capture.postgres.change_events import by_table, change_objects, check_when
from svc_pg.capture.postgres.expressions import check_conditions
from svc_pg.capture.postgres.new_tables import REDACTIONS, disguised_column, named_in, patterns_of
from svc_pg.capture.postgres.own_tables import OWN_TABLES
from svc_pg.capture.postgres.patterns import resolve
from svc_pg.capture.postgres.triggers import capture_objects
from svc_pg.capture.rules import TableRules, check_partitions, check_pattern, rules_for
from svc_pg.capture.table import Table
from svc_pg.config import Config, EventDefinition
from svc_pg.config.erasure import references
from svc_pg.config.installed_parts import Parts, parts_of, products_of
from svc_pg.config.products import PRODUCTS
from svc_pg.database.sql_products import ProductId, is_table_of_webhooks, product_of
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import OVERLOADED, ObjectKind, SchemaObject, name_of, signature
from svc_pg.rendering.templates import render
from svc_pg.schema.postgres import access, log_indexes, partitions, scope
from svc_pg.schema.postgres.access import Access
from svc_pg.schema.postgres.installation import Installation
from svc_pg.schema.refusals import refuse_left_out
from svc_pg.webhooks.deliveries.attempt_waits import max_attempts

# Each file has one function or view, of the same name; those of a folder call those of folders before it
_FUNCTIONS = ("log", "audit", "console", "webhooks")
_VIEWS = ("views",)
_HOLDS = "audit_holds"
# The tables that are guarded, and the functions that refuse changes of them
_GUARDED = {
    "audit_logs": "audit_guard",
    "audit_seals": "audit_guard",
    "audit_seal_leaves": "audit_guard",
    "audit_seal_timestamps": "audit_guard",
    "audit_removed_leaves": "audit_guard",
    "audit_removals": "audit_guard",
    "audit_verifications": "audit_guard",
    "audit_holds": "audit_guard_holds",
    "console_events": "console_guard_events",
}


@dataclass(frozen=True, slots=True)
class Target:
    """The objects of the schema itself, those of each table and the event types, by name, and the access rules.

    ``indexes`` are those of the log, by the ends of their names. ``tables`` holds the application's tables whose
    changes are recorded or sent, and our own audited ones. ``covered`` are their partitions, each with true if its
    changes are sent; ``facts`` are those of the application's tables. ``products`` are those that the database gets.
    With ``has_ddl`` event triggers record DDL on audited tables.
    """

    schema: list[SchemaObject]
    tables: dict[str, Sequence[SchemaObject]]
    events: dict[str, EventDefinition]
    access: Access
    covered: frozenset[tuple[str, bool]] = frozenset()
    indexes: Sequence[str] = log_indexes.ALWAYS
    configuration: Parts = field(default_factory=dict)
    facts: Mapping[str, Table] = field(default_factory=dict)
    products: Sequence[ProductId] = PRODUCTS
    has_ddl: bool = False

    def has_changed(self, conn: Connection[Any], tables: Iterable[str]) -> bool:
        """True if a table has changed since its objects were made. Raises UnknownTableError if one is gone."""
        known = {facts.name: facts for table in tables if (facts := self.facts.get(table)) is not None}
        return bool(known) and read_tables(conn, [*known]) != known

    @property
    def objects(self) -> list[SchemaObject]:
        """All objects."""
        return [*self.schema, *(item for items in self.tables.values() for item in items)]


def target_of(
    conn: Connection[Any], installation: Installation, config: Config, *, roles: bool | None = None
) -> Target:
    """Render everything. Default for ``roles``, and for the products of ``config``: as installed before.

    Raises UnknownTableError, which names every missing table, and ConfigError.
    """
    products = products_of(config, installation.configuration)
    refuse_left_out(config, products)
    config = config.model_copy(update={"products": products})
    partitions.check_number(conn, config.audit)
    facts, tables, covered, read_tables = _of_tables(conn, installation, config, products)
    made = [
        *_rendered(
            "function",
            _FUNCTIONS,
            max_attempts=max_attempts(config.webhooks.retry),
            references=tuple(references(config.audit.erasure)),
            partitions=config.audit.partitions,
            has_webhooks="webhooks" in products,
            patterns=patterns_of(config.audit),
            named=named_in(config.audit),
            has_warning=any(audited.is_pattern and audited.on_error == "warn" for audited in config.audit.tables),
            redactions=REDACTIONS,
            disguised=disguised_column,
            is_actor_required=config.audit.unattributed == "refuse",
            read_tables=read_tables,
            requires_reads=config.audit.unrecorded_reads == "refuse",
        ),
        *_rendered("view", _VIEWS),
    ]
    return Target(
        schema=[
            *(each for each in made if product_of(name_of(each.identity)) in (None, *products)),
            *_guard_triggers(),
            *_tenant_triggers(),
            *(_message_triggers() if "webhooks" in products else ()),
        ],
        tables=tables,
        events=dict(config.webhooks.events),
        access=access.wanted(installation, config.grants, roles=roles, products=products),
        covered=covered,
        indexes=log_indexes.chosen(config.audit),
        configuration=parts_of(config),
        facts=facts,
        products=products,
        has_ddl=config.audit.ddl,
    )


@lru_cache(maxsize=8)  # a program installs few configurations, and often
def _rendered(kind: ObjectKind, folders: tuple[str, ...], **values: Hashable) -> Sequence[SchemaObject]:
    templates = [
        PurePosixPath(folder, file.name)
        for folder in folders
        for file in sorted(files("svc_pg.sql").joinpath(folder).iterdir(), key=lambda file: file.name)
    ]
    return [_object(kind, template, render(str(template), **values)) for template in templates]


def _object(kind: ObjectKind, template: PurePosixPath, sql: str) -> SchemaObject:
    name = template.name.split(".")[0]
    return SchemaObject(kind, signature(sql) if name in OVERLOADED else f"svc.{name}", sql)


def guards() -> list[SchemaObject]:
    """The objects that keep the log append-only and detect a restore, which an uninstall leaves with the data."""
    kept = (
        "log/audit_guard.sql.j2",
        "log/audit_guard_holds.sql.j2",
        "log/audit_new_epoch.sql",
        "console/console_guard_events.sql.j2",
    )
    paths = [PurePosixPath(name) for name in kept]
    functions = [SchemaObject("function", f"svc.{path.name.split('.')[0]}", render(str(path))) for path in paths]
    return [*functions, *_guard_triggers()]


@cache
def _guard_triggers() -> Sequence[SchemaObject]:
    """Those of the log, its seals, holds and the console's events; svc.audit_ensure_partitions guards partitions."""
    return [
        SchemaObject(
            "trigger",
            f"{trigger} on svc.{table}",
            render("capture/guard_trigger.sql.j2", table=table, function=function, trigger=trigger, truncate=truncate),
        )
        for table, function in _GUARDED.items()
        for trigger, truncate in (("audit_guard_row", False), ("audit_guard_truncate", True))
    ]


@cache
def _tenant_triggers() -> Sequence[SchemaObject]:
    """The triggers that end the access of a deleted tenant."""
    return [
        SchemaObject(
            "trigger",
            f"{trigger} on svc.tenants",
            render("capture/tenant_trigger.sql.j2", trigger=trigger, truncate=truncate),
        )
        for trigger, truncate in (("tenants_gone_row", False), ("tenants_gone_truncate", True))
    ]


@cache
def _message_triggers() -> Sequence[SchemaObject]:
    """The triggers by which the searched values of a message go with it, and follow its payload."""
    return [
        SchemaObject(
            "trigger",
            f"messages_searched_{operation.lower()} on svc.webhook_messages",
            render(
                "events/message_trigger.sql.j2",
                trigger=f"messages_searched_{operation.lower()}",
                operation=operation,
            ),
        )
        for operation in ("UPDATE", "DELETE", "TRUNCATE")
    ]


@cache
def _of_own_tables() -> Mapping[TableName, Sequence[SchemaObject]]:
    return {table.name: capture_objects(rules_for(table, rules)) for table, rules in OWN_TABLES}


def read_rules(
    conn: Connection[Any], config: Config, *others: TableName
) -> tuple[dict[TableName, Table], dict[TableName, TableRules]]:
    """The tables that are audited, and ``others``; and the rules of those that are audited.

    Raises UnknownTableError, which names every missing table, and ConfigError.
    """
    audited = resolve(conn, config.audit.tables)
    with scope.planning(conn, scope.ALL):
        tables = read_tables(conn, [*audited, *others])
    for pattern in config.audit.tables:
        check_pattern(pattern, [tables[name] for name in audited if audited[name] is pattern])
    check_partitions({name: tables[name] for name in audited})
    for name, rules in audited.items():
        check_conditions(conn, str(name), rules)
    return tables, {name: rules_for(tables[name], rules) for name, rules in audited.items()}


def _is_recorded(installation: Installation, own_table: str, products: Sequence[ProductId]) -> bool:
    if own_table == _HOLDS:
        return "audit" in products
    return "webhooks" in products or not is_table_of_webhooks(own_table) or installation.has(own_table)


def _of_tables(
    conn: Connection[Any], installation: Installation, config: Config, products: Sequence[ProductId]
) -> tuple[dict[str, Table], dict[str, Sequence[SchemaObject]], frozenset[tuple[str, bool]], tuple[str, ...]]:
    """The tables; for each the objects that record its changes, then the objects that send them; the partitions; and
    the tables whose reads are recorded.

    Of our own tables, those of webhooks that are left out are recorded as long as they are there; legal holds, which
    nobody can place or lift without the audit trail, are not.
    """
    sent = by_table(config.webhooks.change_events)
    tables, recorded = read_rules(conn, config, *sent)
    check_erasure(references(config.audit.erasure), recorded)
    check_cascades(conn, [name for name, rules in recorded.items() if rules.audited.level == "statement"])
    objects = {
        str(table): made
        for table, made in _of_own_tables().items()
        if _is_recorded(installation, table.table, products)
    }
    for name, fitted in recorded.items():
        objects[str(name)] = capture_objects(fitted, unattributed=config.audit.unattributed)
    for name, events in sent.items():
        table = tables[name]
        check_when(conn, table, events)
        redacted = {
            column
            for relation in (name, *table.partitions)
            if relation in recorded
            for column in recorded[relation].redacted_columns
        }
        objects[str(name)] = [
            *objects.get(str(name), ()),
            *change_objects(table, events, redacted=redacted),
        ]
    parts = [(names, sends) for names, sends in ((recorded, False), (sent, True))]
    covered = {(str(part), sends) for names, sends in parts for name in names for part in tables[name].partitions}
    read = sorted(str(name) for name, fitted in recorded.items() if fitted.audited.record_reads)
    return {str(name): table for name, table in tables.items()}, objects, frozenset(covered), tuple(read)
