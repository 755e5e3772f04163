"""Write a proposal as the text of a configuration in TOML, with its reasons as comments."""

import glob
import re
from collections.abc import Iterable, Iterator
from typing import Final

from svc_pg.config.installed_parts import READ_BY_PROGRAMS
from svc_pg.database.table_names import DEFAULT_SCHEMA, TableName
from svc_pg.scaffold.example_event import ExampleEvent
from svc_pg.scaffold.proposal import Proposal, ProposedTable

MANY_TABLES: Final = 100
"""With more tables, a pattern for each schema stands for those that need no rule of their own."""
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_HEAD: Final = """\
# The tables whose changes svc-pg records. svc-pg install makes the database equal to this file.
# What redact names never reaches the log: "remove" leaves a value out, "mask" puts a marker in its place, "hash" keeps
# equal values equal, "last4" keeps the end. The console names records by the column after "title:"; to choose another
# one, write title = "column" below the name. What tells who a person is stays readable, for people who read the log:
# svc-pg erase takes it out of the entries of a record; or add it to redact. These are proposals: add what is missing,
# take away what is not needed.
#
# A key is a fact of the database: run svc-pg install after a change. Programs read these when they start
# (the page Configuration):
"""
_EVENT_HEAD: Final = """\
# An example of an event: webhooks send it to receivers when rows of the table change (the page Events from table
# changes). Take away the first two characters of each line."""


def toml_text(proposal: Proposal) -> str:
    """The file. The same proposal gives the same text."""
    has_patterns = len(proposal.tables) > MANY_TABLES
    parts = [_HEAD + "".join(map(_program_keys, READ_BY_PROGRAMS))]
    if has_patterns:
        parts += _patterns(proposal)
    parts += [
        _entry(table, proposal.default_schema) for table in proposal.tables if not has_patterns or _has_rules(table)
    ]
    if proposal.left_out and not has_patterns:
        lines = [f"# {_shown(_name(name, proposal))}: {_shown(reason)}" for name, reason in proposal.left_out.items()]
        parts.append("\n".join(["# Left out:", *lines]) + "\n")
    if proposal.event is not None:
        parts.append(_event(proposal.event))
    return "\n".join(parts)


def rule_name(table: TableName, default_schema: str) -> str:
    """The table as a rule names it: a pattern that only this table fits if its name looks like a pattern."""
    name = _default_name(table, default_schema)
    return glob.escape(name) if "*" in name else name


def quoted(text: str) -> str:
    """A basic string of TOML."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _default_name(table: TableName, default_schema: str) -> str:
    """The name, without the schema if that is the default of another database than PostgreSQL."""
    if default_schema != DEFAULT_SCHEMA and table.schema == default_schema:
        return str(table._replace(schema=DEFAULT_SCHEMA)).removeprefix(f"{DEFAULT_SCHEMA}.")
    return str(table)


def _name(table: TableName, proposal: Proposal) -> str:
    return _default_name(table, proposal.default_schema)


def _entry(table: ProposedTable, default_schema: str) -> str:
    lines = [f"# {_shown(note)}" for note in table.notes]
    lines += ["[[audit.tables]]", f"name = {quoted(rule_name(table.name, default_schema))}"]
    if table.title:
        lines[-1] += f"    # title: {_shown(table.title)}"
    if table.personal:
        lines.append(f"# personal, and recorded as they are: {', '.join(map(_shown, table.personal))}")
    if table.ignore:
        lines.append(f"ignore = [{', '.join(map(quoted, table.ignore))}]    # {_shown(_joined(table.ignore.values()))}")
    if table.key:
        lines.append(f"key = [{', '.join(map(quoted, table.key))}]    # a unique index, as there is no primary key")
    if table.unread and table.redact:
        lines.append(f"# proposed by names: {_shown(table.unread)}")
    if table.redact:
        lines += ["", "[audit.tables.redact]"]
        written = [(f"{_key(each.column)} = {quoted(each.redaction)}", each.reason) for each in table.redact]
        width = max(len(text) for text, _ in written)
        lines += [f"{text:{width}}    # {_shown(reason)}" for text, reason in written]
    return "\n".join(lines) + "\n"


def _program_keys(section: str) -> str:
    return f"#   {', '.join(READ_BY_PROGRAMS[section])} of {section}\n"


def _event(event: ExampleEvent) -> str:
    """The example of an event, commented out."""
    values = {column: column for column in event.key} | ({} if event.state is None else {event.state: event.state})
    payload = ", ".join(f"{_key(name)} = {quoted(column)}" for name, column in values.items())
    if event.state is not None:
        payload += f', old_{event.state} = "before.{event.state}"'
    lines = [
        f"[webhooks.events.{quoted(event.name)}]",
        f'description = "{event.noun.capitalize()} {event.name.rpartition(".")[2]}"',
        "",
        "[[webhooks.on_change]]",
        f"table = {quoted(str(event.table))}",
        f'operation = "{"UPDATE" if event.state else "INSERT"}"',
        *([f"columns = [{quoted(event.state)}]    # only if it changes"] if event.state else []),
        f"event = {quoted(event.name)}",
        f"payload = {{ {payload} }}",
    ]
    return "\n".join([_EVENT_HEAD, *(f"# {line}".rstrip() for line in lines)]) + "\n"


def _patterns(proposal: Proposal) -> Iterator[str]:
    schemas = dict.fromkeys(table.name.schema for table in proposal.tables if not _is_alone(table))
    for schema in schemas:
        name = _default_name(TableName(schema, "*"), proposal.default_schema)
        if "*" in schema or glob.escape(schema) != schema:
            name = f"{glob.escape(name.removesuffix('*'))}*"
        lines = ["[[audit.tables]]", f"name = {quoted(name)}    # every table, also those to come"]
        excluded = {table: reason for table, reason in proposal.left_out.items() if table.schema == schema}
        excluded |= {
            table.name: "has rules of its own"
            for table in proposal.tables
            if table.name.schema == schema and _is_alone(table)
        }
        if excluded:
            lines += ["exclude = [", *_excluded(excluded.items(), proposal), "]"]
        yield "\n".join(lines) + "\n"


def _is_alone(table: ProposedTable) -> bool:
    """True if it has rules under a name that is a pattern: two patterns must not cover one table."""
    return "*" in str(table.name) and _has_rules(table)


def _has_rules(table: ProposedTable) -> bool:
    return bool(table.redact or table.notes or table.ignore or table.key)


def _joined(reasons: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))


def _excluded(tables: Iterable[tuple[TableName, str]], proposal: Proposal) -> Iterator[str]:
    for table, reason in tables:
        name = glob.escape(_name(table, proposal))
        yield f"    {quoted(name)},    # {_shown(reason)}"


def _key(text: str) -> str:
    return text if _BARE_KEY.fullmatch(text) else quoted(text)


def _shown(text: str) -> str:
    """The text in a comment, which ends with its line."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
