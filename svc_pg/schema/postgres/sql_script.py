"""The steps of an install as a script of SQL, for deployment by files: psql, Alembic, Django."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.rows import tuple_row
from psycopg.sql import SQL

from svc_pg import __version__
from svc_pg.config import Config
from svc_pg.config.installed_parts import Parts, json_of, products_of
from svc_pg.config.products import PRODUCTS
from svc_pg.rendering.schema_objects import OBJECT_KINDS, OVERLOADED, SchemaObject
from svc_pg.rendering.templates import render
from svc_pg.schema.configuration_change import change_between
from svc_pg.schema.export.script import Script
from svc_pg.schema.migration_files import Migration, by_name
from svc_pg.schema.postgres import ddl_triggers, gaps, installation, installed, inventory, log_indexes, preflight
from svc_pg.schema.postgres.access import Access, access_sql, fingerprint
from svc_pg.schema.postgres.differences import look
from svc_pg.schema.postgres.installation import OWNERS, Installation
from svc_pg.schema.postgres.migrations import released
from svc_pg.schema.postgres.target import guards, target_of
from svc_pg.schema.postgres.transactions import transaction
from svc_pg.schema.refusals import refuse_lost, refuse_newer, refuse_removals
from svc_pg.schema.status import Status, steps_of


class _Change(NamedTuple):
    kind: str
    identity: str
    before: str | None
    after: str | None


def script(
    conn: Connection[Any],
    config: Config,
    *,
    prune: bool = False,
    roles: bool | None = None,
    within: Callable[[Connection[Any]], AbstractContextManager[None]] = transaction,
) -> Script | None:
    """The script for this database, or None if it is already as the configuration says. Changes nothing.

    ``prune`` and ``roles`` are those of ``install``. It looks at the database ``within`` a transaction of its own, or
    inside the caller's. Raises the errors of ``install`` that come before any change.
    """
    preflight.check_server(conn)
    with within(conn):
        present = installation.read_installation(conn, installation.look_around(conn))
        refuse_newer(present.version)
        target = target_of(conn, present, config, roles=roles)
        steps = [step for step in steps_of(look(conn, present, target)) if not step.is_later]
        notes = _notes(conn, present)
    if not prune:
        refuse_removals(steps)
    refuse_lost(steps)
    if not steps:
        return None
    objects, parts = [step for step in steps if step.kind in OBJECT_KINDS], target.configuration
    event_triggers = [step for step in steps if step.kind == ddl_triggers.KIND and step.action != "remove"]
    texts = [
        render("script/begin.sql.j2"),
        *_check(steps, notes),
        *_roles(target.access, [step for step in steps if step.kind == "role" and step.action == "replace"]),
        *_steps(
            step for step in steps if step.kind not in ("role", "partition", "access") and step not in event_triggers
        ),
        *([inventory.RECORD] if any(step.kind == "migration" for step in steps) else []),
        *_record([step.item for step in objects if step.item is not None]),
        gaps.note_sql(keeps=False) + ";",
        access_sql(target.access),
        _finish(target.access, parts),
        *(_step(step) for step in event_triggers),
        render("script/end.sql"),
    ]
    tables = [step.audited_table for step in objects if step.audited_table and step.item is not None]
    state = sha256(json.dumps([present.revision, sorted(notes.items())]).encode()).hexdigest()
    makes_ddl = any(step.action == "create" for step in event_triggers)
    downgrade = _downgrade(objects, present, is_first=not notes, makes_ddl=makes_ddl)
    change = change_between(
        present.configuration if notes else None,
        parts,
        version=released()[-1].number,
        prune=prune and any(step.needs_prune for step in steps),
        roles=roles,
    )
    return Script("\n".join(texts), downgrade, list(dict.fromkeys(tables)), made_for=state, change=change)


def _steps(steps: Iterator[Status]) -> Iterator[str]:
    """The steps; before the first step of a table, its gaps in the log are kept."""
    is_kept = False
    for step in steps:
        if step.audited_table is not None and not is_kept:
            is_kept = True
            yield gaps.note_sql() + ";"
        yield _step(step)


def _check(steps: list[Status], notes: Mapping[tuple[str, str], str]) -> Iterator[str]:
    changes = [
        _Change(step.kind, step.identity, notes.get((step.kind, step.identity)), _source_sha256(step))
        for step in steps
        if step.kind == "migration" or step.kind in OBJECT_KINDS
    ]
    if changes:
        yield render("script/check.sql.j2", changes=changes, is_first=not notes)


def _source_sha256(step: Status) -> str | None:
    if step.kind == "migration":
        return _migrations()[step.identity].sha256
    return None if step.item is None else step.item.source_sha256


def _roles(access: Access, tampered: list[Status]) -> Iterator[str]:
    if access.has_roles:
        yield render("script/roles.sql.j2", roles=access.roles, owners=OWNERS)
    yield from (step.sql for step in tampered)


def _finish(access: Access, parts: Parts) -> str:
    return render(
        "script/finish.sql.j2",
        version=__version__,
        has_roles=access.has_roles,
        access_sha256=fingerprint(access),
        configuration=json_of(parts),
    )


def _record(made: list[SchemaObject]) -> Iterator[str]:
    if made:
        yield render("script/record.sql.j2", made=made, found=SQL(installed.found_sql()))


def _downgrade(objects: list[Status], present: Installation, *, is_first: bool, makes_ddl: bool) -> str:
    """The reverse: for a later script only whole captures, because replaced functions may call new ones; and a product
    and event triggers, if the script adds them.
    """
    kept = {(guard.kind, guard.identity) for guard in guards()}
    added = {*PRODUCTS} - {*products_of(Config(), present.configuration)}
    made = [
        f"{step.kind} {step.identity}"
        for step in objects
        if step.item is not None and step.action == "create" and (step.kind, step.identity) not in kept
        if is_first
        or (step.audited_table and not step.is_of_own_table)  # whose rows stay
        or step.product in added
    ]
    before = None if is_first or present.configuration is None else json_of(present.configuration)
    return removal(made, configuration=before, is_all=is_first, has_ddl=is_first or makes_ddl)


def removal(made: list[str], *, configuration: str | None, is_all: bool, has_ddl: bool) -> str:
    """Remove the objects of these kinds and identities, as far as they are there, and record the configuration.

    With ``has_ddl`` also the event triggers.
    """
    text = render(
        "script/remove.sql.j2",
        made=made,
        found=SQL(installed.found_sql()),
        configuration=configuration,
        is_all=is_all,
        drop_indexes=SQL(log_indexes.DROP),
        drop_ddl_triggers=SQL(ddl_triggers.DROP) if has_ddl else None,
        ddl_triggers=list(ddl_triggers.NAMES),
    )
    return "\n".join([render("script/begin.sql.j2"), text, render("script/end.sql")])


def _notes(conn: Connection[Any], present: Installation) -> dict[tuple[str, str], str]:
    """The fingerprint of the source of every function, view and trigger that is recorded."""
    if not present.has("installed_objects"):
        return {}
    rows = conn.cursor(row_factory=tuple_row).execute("select kind, identity, source_sha256 from svc.installed_objects")
    return {(kind, identity): sha256 for kind, identity, sha256 in rows}


def _migrations() -> dict[str, Migration]:
    return by_name(released())


def _step(step: Status) -> str:
    title = f"-- {step.action} {step.kind} {step.identity!a}\n"
    if step.kind == "migration":
        migration = _migrations()[step.identity]
        return title + render("script/migration.sql.j2", statements=SQL(migration.sql), migration=migration)
    if step.kind in OBJECT_KINDS and step.action == "remove":
        drop_sql = re.sub(r"^drop (function|view|trigger) ", r"drop \1 if exists ", step.sql, flags=re.MULTILINE)
        return title + render("script/remove_object.sql.j2", drop_sql=SQL(drop_sql), step=step)
    if step.kind == "view" and step.action == "replace":
        return title + render("script/replace_view.sql.j2", identity=step.identity, create=step.sql)
    if step.kind == "function" and step.action == "replace":
        return title + render("script/drop_function.sql.j2", identity=step.identity, overloaded=OVERLOADED) + step.sql
    return title + step.sql
