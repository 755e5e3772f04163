"""The steps of an install as a script for the shell of MySQL or MariaDB, Alembic or Django."""

from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import Final, NamedTuple

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.database.dbapi import DbApiConnection
from svc_pg.database.table_names import TableName
from svc_pg.errors import InstallError
from svc_pg.other_databases.capture.mysql.expressions import MySql
from svc_pg.other_databases.schema.mysql import installed, log_ids, migrations, preflight
from svc_pg.other_databases.schema.mysql.differences import look
from svc_pg.other_databases.schema.mysql.installation import read_installation
from svc_pg.other_databases.schema.mysql.session import COLLATION, SQL_MODE, Server, pinned
from svc_pg.other_databases.schema.mysql.target import guards, target_of
from svc_pg.rendering.schema_objects import SchemaObject, Trigger
from svc_pg.rendering.sql_text import Sql
from svc_pg.rendering.templates import render_for
from svc_pg.schema.change import Change, Removal, change_of, removal_of, replaced_by, reversal_of
from svc_pg.schema.export.script import Script, statements
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals
from svc_pg.schema.status import steps_of

_QUOTE: Final = MySql()
_RANDOM_SINCE: Final = (10, 10)
_MAKE_KEY: Final = """
insert ignore into svc.audit_hash_key (is_only, inner_pad, outer_pad) values (1, random_bytes(64), random_bytes(64))
"""


class _Made(NamedTuple):
    """A trigger to make and record."""

    item: SchemaObject
    trigger: Trigger
    statement: Sql
    home: str


class _Together(NamedTuple):
    """The triggers to exchange while their tables are locked, or records of dropped triggers to remove."""

    tables: Sequence[TableName]
    removals: Sequence[Removal]
    made: Sequence[_Made]


def script(conn: DbApiConnection, config: Config, *, prune: bool = False) -> Script | None:
    """The script for this database, or None if it is already as the configuration says. Changes nothing.

    Raises the errors of ``install`` that come before any change, and InstallError if the server cannot make the key of
    hashed columns.
    """
    with pinned(conn) as server:
        preflight.check_server(server)
        present = read_installation(conn)
        refuse_newer(present.version)
        wanted = target_of(conn, server, config)
        steps = steps_of(look(conn, server, present, wanted))
        definitions = installed.definitions(conn, steps)
    notes = {key: note.source_sha256 for key, (_, note) in present.notes.items()}
    if not prune:
        refuse_removals(steps)
    refuse_lost(steps)
    if not steps:
        return None
    change = change_of(steps, migrations.released(), notes)
    if change.migrations and server.is_mariadb and server.version < _RANDOM_SINCE:
        raise InstallError(
            f"a script cannot make the key of hashed columns on MariaDB {server.text}",
            hint="Run svc-pg install the first time.",
        )
    gone = {step.recorded_as or step.identity for step in steps if step.kind == "trigger" and not step.sql}
    back = reversal_of(steps, guards(), replaced_by(steps, notes, definitions), is_first=not notes)
    tables = [step.audited_table for step in steps if step.audited_table and step.item is not None]
    return _script(server, [(change, __version__)], [(back, None)], tables, gone, log_ids.statements_of(steps))


def removal(conn: DbApiConnection, config: Config, tables: Sequence[str]) -> Script:
    """The script that removes the capture of tables, before their columns change. Its downgrade brings it back."""
    with pinned(conn) as server:
        found = look(conn, server, read_installation(conn), target_of(conn, server, config))
    names = [TableName.parse(table).within(server.database) for table in tables]
    changes = [removal_of(found, str(name), _QUOTE.ident(name.table)) for name in names]
    up: list[tuple[Change, str | None]] = [(change, None) for change, _ in changes]
    down: list[tuple[Change, str | None]] = [(change, None) for _, change in changes]
    return _script(server, up, down, [str(name) for name in names], set())


def _script(
    server: Server,
    upgrade: Sequence[tuple[Change, str | None]],
    downgrade: Sequence[tuple[Change, str | None]],
    tables: Sequence[str],
    gone: set[str],
    last: Sequence[str] = (),
) -> Script:
    items = chain.from_iterable(change.items for change, _ in (*upgrade, *downgrade))
    end = _delimiter(items)

    def text(changes: Sequence[tuple[Change, str | None]]) -> str:
        return "".join(_text(server, change, version, end, gone) for change, version in changes)

    def split(script: str) -> list[str]:
        return [statement.strip() for statement in script.split(end.text) if statement.strip()]

    return Script(
        text(upgrade) + "".join(f"{statement}{end.text}\n" for statement in last),
        text(downgrade),
        list(dict.fromkeys(tables)),
        opening=f"delimiter {end.text}",
        closing="delimiter ;",
        split=split,
    )


def _delimiter(items: Iterator[SchemaObject]) -> Sql:
    """A delimiter that occurs in no trigger."""
    texts = [item.sql for item in items]
    return next(
        end for end in (Sql(f"$${number or ''}") for number in count()) if not any(end.text in t for t in texts)
    )


def _text(server: Server, change: Change, version: str | None, end: Sql, gone: set[str]) -> str:
    return render_for(
        _QUOTE,
        "mysql/script/change.sql.j2",
        migrations=[(each, [Sql(text) for text in statements(each.sql)]) for each in change.migrations],
        finish=[Sql(statement.strip()) for statement in (_MAKE_KEY, *migrations.RECORD)],
        change=change,
        tables=list(_together(change, server.database, gone)),
        facts=installed.FACTS,
        database=server.database,
        sql_mode=SQL_MODE,
        collation=COLLATION,
        version=version,
        end=end,
    )


def _together(change: Change, database: str, gone: set[str]) -> Iterator[_Together]:
    if lost := [removal for removal in change.removals if removal.recorded_as in gone]:
        yield _Together([], lost, [])
    removals = [removal for removal in change.removals if removal.recorded_as not in gone]
    for exchange in installed.exchanges(change.items, removals):
        yield _Together(exchange.tables, exchange.removals, [_made(item, database) for item in exchange.items])


def _made(item: SchemaObject, database: str) -> _Made:
    trigger = Trigger.parse(item.identity)
    return _Made(item, trigger, Sql(item.sql), installed.home_of(trigger, database))
