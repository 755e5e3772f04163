"""Render the functions and the triggers that record the changes of one table."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from psycopg.sql import SQL, Composable, Identifier, Literal

from svc_pg.capture.postgres.expressions import Operation, enrichment, texts
from svc_pg.capture.postgres.history_objects import history_objects
from svc_pg.capture.postgres.images import careful_image, locked_image, query_image, record_image
from svc_pg.capture.postgres.record_keys import AFTER, BEFORE, key_in, lasting_id, moved_from, pairing, record_id
from svc_pg.capture.postgres.recording import recorded, without_ignored
from svc_pg.capture.postgres.redaction import redacted_row
from svc_pg.capture.rules import TableRules
from svc_pg.config.audit import Unattributed
from svc_pg.database.table_names import TableName
from svc_pg.rendering.schema_objects import SchemaObject, names_of
from svc_pg.rendering.templates import render

_OPERATIONS: Final[tuple[Operation, ...]] = ("UPDATE", "INSERT", "DELETE", "TRUNCATE")
# 00: PostgreSQL fires triggers in the order of their names, and capture precedes the application's own
_PREFIX: Final = "00_svc_audit_"
_TRIGGERS: Final = {"row": ("write", "update", "truncate"), "statement": ("insert", "update", "delete", "truncate")}
_LOG: Final = SQL("svc.audit_logs")
_IS_SUPERUSER: Final = SQL("v_is_superuser")
_RECORD_IMAGES: Final = {"UPDATE": AFTER, "INSERT": AFTER, "DELETE": BEFORE, "TRUNCATE": None}


def capture_objects(rules: TableRules, *, unattributed: Unattributed = "record") -> list[SchemaObject]:
    """The views and the functions, then the triggers that call them."""
    redact = [_redact_function(rules)] if rules.has_redact_function else []
    capture = _capture_function(rules, unattributed)
    return [_record_view(rules), *redact, capture, *history_objects(rules), *_triggers(rules)]


def measured_objects(rules: TableRules, *, unattributed: Unattributed, log: Composable) -> list[SchemaObject]:
    """As ``capture_objects``, without what reads: for a table whose entries go to another log."""
    redact = [_redact_function(rules)] if rules.has_redact_function else []
    return [_record_view(rules, log), *redact, _capture_function(rules, unattributed), *_triggers(rules)]


def snapshot_values(rules: TableRules) -> dict[str, object]:
    """The values of the templates of a backfill, whose transaction must hold a lock of the table.

    Under the lock no column is newer than the rules, though it may be newer than the installed functions.
    """
    after = redacted_row(rules, AFTER) if rules.has_redact_function else AFTER
    return {
        "table": tuple(rules.table.name),
        "table_name": str(rules.table.name),
        "is_partitioned": rules.table.is_partitioned,
        "image": _image(rules, locked_image(rules.table, SQL('"svc row"'))),
        "record_id": record_id(rules, AFTER),
        "after": _capped(rules, after),
        "redacted": texts(sorted(rules.redactions)) if rules.redactions else SQL("null::text[]"),
        "recorded": recorded(rules, "INSERT"),
    }


def _record_view(rules: TableRules, log: Composable = _LOG) -> SchemaObject:
    """The view through which the capture function writes; ``sql/access/access_changes.sql.j2`` grants its use."""
    view, table_name = names_of(rules.table.name).record, str(rules.table.name)
    sql = render(
        "capture/record_view.sql.j2",
        view=view,
        log=log,
        table_name=table_name,
        meaning=_meaning(rules),
        ignored=rules.ignored,
        is_conditional=rules.audited.record_when is not None,
    )
    return SchemaObject("view", f"svc.{view}", sql, audited_table=table_name)


def _meaning(rules: TableRules) -> str:
    purpose = "Internal: the way of a table's entries into the log."
    return purpose if rules.leaves_out is None else f"{purpose} Not all changes: {rules.leaves_out}."


def _redact_function(rules: TableRules) -> SchemaObject:
    """The function that redacts a snapshot."""
    function = names_of(rules.table.name).redact
    sql = render(
        "capture/redact_function.sql.j2",
        function=function,
        table_name=str(rules.table.name),
        guarded=rules.guarded,
        recorded=redacted_row(rules, SQL("p_row")),
        masks_newer_columns=rules.masks_newer_columns,
        on_drift=rules.audited.on_drift,
    )
    return SchemaObject("function", f"svc.{function}", sql, audited_table=str(rules.table.name))


def _capture_function(rules: TableRules, unattributed: Unattributed) -> SchemaObject:
    table = rules.table
    function = names_of(table.name).capture
    newer = SQL("v_newer") if rules.audited.level == "row" else _newer(rules)
    values: dict[str, object] = {
        "function": function,
        "view": names_of(table.name).record,
        "table_name": str(table.name),
        "is_partitioned": table.is_partitioned,
        "columns": sorted(set(table.columns).difference(table.json_columns)),
        "json_columns": sorted(table.json_columns),
        "known": sorted(table.columns),
        "later_redactions": rules.later_redactions,
        # conditions may depend on settings
        "has_simple_types": table.has_simple_types and not rules.audited.enrich and not rules.audited.record_when,
        "is_redacted": rules.is_redacted,
        "has_redact_function": rules.has_redact_function,
        "on_error": rules.audited.on_error,
        "has_sql": rules.audited.has_sql,
        "is_ours": table.name.schema == "svc",
        "actor": _actor(rules, unattributed),
        "is_actor_required": unattributed == "refuse",
        "recorded": {operation: recorded(rules, operation) for operation in _OPERATIONS},
    }
    if rules.audited.level == "row":
        template = "capture/function.sql.j2"
        operations = [(operation, enrichment(rules.audited.enrich, operation)) for operation in _OPERATIONS]
        values |= {
            "old": _image(rules, record_image(table, SQL("old"))),
            "new": _image(rules, record_image(table, SQL("new"))),
            "careful_old": _image(rules, careful_image(SQL("old"))),
            "careful_new": _image(rules, careful_image(SQL("new"))),
            "before": _recorded(rules, BEFORE, newer),
            "after": _recorded(rules, AFTER, newer),
            "redacted": _redacted_fields(rules, newer),
            "key": list(rules.key),
            "moved_from": moved_from(rules, newer),
            "record_ids": {operation: lasting_id(rules, image, newer) for operation, image in _RECORD_IMAGES.items()},
            "operations": operations,
            "has_choice": any(words and words.choice for _, words in operations),
        }
    else:
        template = "capture/statement_function.sql.j2"
        values |= {
            "old": _image(rules, query_image(table, SQL('"svc old"'), is_careful=_IS_SUPERUSER)),
            "new": _image(rules, query_image(table, SQL('"svc new"'), is_careful=_IS_SUPERUSER)),
            "before": _recorded(rules, _without_later(rules, BEFORE), newer),
            "after": _recorded(rules, _without_later(rules, AFTER), newer),
            "redacted": _later_fields(rules, newer) if rules.later_redactions else _redacted_fields(rules, newer),
            "record_id": lasting_id(rules, SQL("coalesce(v_after, v_before)"), newer, has_truncate=True),
            "pairing": pairing(rules),
            "keys_may_repeat": table.keys_may_repeat,
            "reads_rows": without_ignored(rules) is not None,
            "key_before": key_in(rules, BEFORE),
            "key_after": key_in(rules, AFTER),
            "enrichment": enrichment(rules.audited.enrich, None),
        }
    sql = render(template, **values)
    return SchemaObject("function", f"svc.{function}", sql, str(table.name), rules.leaves_out, rules.title)


def _actor(rules: TableRules, unattributed: Unattributed) -> Composable:
    """The actor of the transaction; without one, null or an error."""
    if unattributed == "record":
        return SQL("v_actor")
    return SQL("coalesce(v_actor, svc.audit_unattributed({}))").format(Literal(str(rules.table.name)))


def _image(rules: TableRules, image: Composable) -> Composable:
    """The snapshot of a row of a trigger, without the columns that a trigger cannot see."""
    return SQL("{} - {}").format(image, texts(rules.table.virtual)) if rules.table.virtual else image


def _recorded(rules: TableRules, image: Composable, newer: Composable) -> Composable:
    """The part of a snapshot that may be recorded; ``newer`` is the part of columns unknown to the rules."""
    if rules.has_redact_function:
        function = Identifier(names_of(rules.table.name).redact)
        image = SQL("svc.{}({}, {})").format(function, image, newer)
    return _capped(rules, image)


def _capped(rules: TableRules, image: Composable) -> Composable:
    if rules.audited.max_value_bytes is None:
        return image
    return SQL("svc.audit_cap({}, {})").format(image, rules.audited.max_value_bytes)


# As capture/function.sql.j2 does for a row
_WITHOUT_LATER: Final = SQL("case when {0} ?| {1} then {0} || svc.audit_mask_all({0} - {2}) else {0} end")
_LATER_FIELDS: Final = SQL("case when coalesce(v_after, v_before) ?| {} then svc.audit_keys({}) end")


def _without_later(rules: TableRules, image: Composable) -> Composable:
    """A snapshot whose newer columns are masked if the rules redact one of them."""
    if not rules.later_redactions:
        return image
    return _WITHOUT_LATER.format(image, texts(rules.later_redactions), texts(sorted(rules.table.columns)))


def _later_fields(rules: TableRules, newer: Composable) -> Composable:
    """The fields that ``_without_later`` masks."""
    return _LATER_FIELDS.format(texts(rules.later_redactions), newer)


def _newer(rules: TableRules) -> Composable:
    return SQL("coalesce(v_after, v_before) - {}").format(texts(sorted(rules.table.columns)))


def _redacted_fields(rules: TableRules, newer: Composable) -> Composable:
    """The removed or masked fields of an entry, newer columns among them; ``*`` if all are."""
    if not rules.has_redact_function:
        return SQL("null::text[]")
    row = SQL("coalesce(v_after, v_before)")
    names = texts(sorted(rules.redactions)) if rules.redactions else SQL("null")
    added = SQL("when {0} <> '{{}}' then {1} || svc.audit_keys({0})").format(newer, names)
    return SQL("case when {0} is null then null when not {0} ?& {1} then '{{*}}'::text[] {2} else {3} end").format(
        row, texts(rules.guarded), added if rules.masks_newer_columns else SQL(""), names
    )


def _triggers(rules: TableRules) -> Iterable[SchemaObject]:
    table = rules.table

    # A partitioned table has names of its own: attaching a table that is audited by itself would fail over equal ones
    suffix = "_" + sha256("\0".join(table.name).encode()).hexdigest()[:8] if table.is_partitioned else ""

    def trigger(kind: str, on: TableName) -> SchemaObject:
        name = f"{_PREFIX}{kind}{suffix}"
        sql = render(
            "capture/trigger.sql.j2",
            trigger=name,
            kind=kind,
            table=tuple(on),
            level=rules.audited.level,
            function=names_of(table.name).capture,
            replica=rules.audited.replica,
            without_ignored=without_ignored(rules),
        )
        return SchemaObject("trigger", f"{name} on {on}", sql, audited_table=str(table.name))

    yield from (trigger(kind, table.name) for kind in _TRIGGERS[rules.audited.level])
    # row triggers are cloned to partitions, statement triggers are not
    yield from (trigger("truncate", partition) for partition in table.partitions)
