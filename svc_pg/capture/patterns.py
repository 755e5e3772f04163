"""Resolve the names and patterns of the audit log's rules to the tables of a database."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from svc_pg.config import AuditedTable
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.errors import ConfigError, UnknownTableError


def resolve(
    wanted: Sequence[AuditedTable], found: Sequence[TableName], *, default_schema: str = DEFAULT_SCHEMA
) -> dict[TableName, AuditedTable]:
    """The rules of each table: a pattern stands for the tables of ``found`` that it covers and no rule names.

    ``public`` stands for ``default_schema``. Raises ConfigError if a table is named twice or covered by two patterns,
    UnknownTableError if a pattern covers none.
    """
    named: dict[TableName, AuditedTable] = {}
    for rules in wanted:
        if not rules.is_pattern:
            name = TableName.parse(rules.name).within(default_schema)
            if name in named:
                raise ConfigError(f'table "{name}" is named twice: as {named[name].name} and as {rules.name}')
            named[name] = rules
    covered: dict[TableName, AuditedTable] = {}
    for rules in wanted:
        if not rules.is_pattern:
            continue
        tables = [table for table in found if _matches(rules, table, default_schema)]
        if not tables:
            raise UnknownTableError(f'no table matches "{rules.name}"', hint="Patterns are compared with schema.table.")
        if twice := [table for table in tables if table in covered]:
            raise ConfigError(
                f'two patterns cover "{twice[0]}": {covered[twice[0]].name} and {rules.name}',
                hint="Exclude it from one of them, or name the table itself.",
            )
        covered |= dict.fromkeys(tables, rules)
    return covered | named


def covering(
    rules: Sequence[AuditedTable], table: TableName, *, default_schema: str = DEFAULT_SCHEMA
) -> AuditedTable | None:
    """The rules of a present or former table: those that name it, else the first pattern that covers it."""
    for each in rules:
        if not each.is_pattern and TableName.parse(each.name).within(default_schema) == table:
            return each
    return next((each for each in rules if each.is_pattern and _matches(each, table, default_schema)), None)


def fits(pattern: str, table: TableName, *, default_schema: str = DEFAULT_SCHEMA) -> bool:
    """True if the table has a name that the pattern covers; a pattern without ``*`` is a name."""
    names = {str(table)}
    if table.schema == default_schema:
        names.add(str(table._replace(schema=DEFAULT_SCHEMA)))
    return any(fnmatchcase(name, pattern) for name in names)


def posix(pattern: str) -> str:
    """The regular expression of PostgreSQL for the names that ``fits`` covers, by default ``public``."""
    parts, rest = [], pattern
    while rest:
        first, rest = rest[0], rest[1:]
        end = rest.find("]", 2 if rest[:1] == "!" else 1)
        if first == "[" and end > 0:
            chosen, rest = rest[:end], rest[end + 1 :]
            inside = "".join(f"\\{each}" if each in "\\[]^" else each for each in chosen.removeprefix("!"))
            parts.append(f"[{'^' if chosen[0] == '!' else ''}{inside}]")
        elif first in "*?":
            parts.append(".*" if first == "*" else ".")
        else:
            parts.append(first if first.isalnum() or first == "_" else f"\\{first}")
    return f"^{''.join(parts)}$"


def _matches(rules: AuditedTable, table: TableName, default_schema: str) -> bool:
    """True if the pattern covers the table by its own name, and excludes it by none of its names."""
    return fits(rules.name, table, default_schema=default_schema) and not any(
        fits(pattern, table, default_schema=default_schema) for pattern in rules.exclude
    )
