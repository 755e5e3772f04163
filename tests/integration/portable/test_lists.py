import asyncio
import base64
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from svc_pg import audit
from svc_pg.audit import AuditQuery
from svc_pg.errors import ConfigError, NotInstalledError, QueryError
from svc_pg.integrations.jinja import add_templates
from svc_pg.other_databases.log.counts import counted_facets
from svc_pg.other_databases.log.entries import log_dialect_of
from svc_pg.other_databases.log.statements import run
from tests.support.logs import Log, records
from tests.support.pages import all_rows
from tests.support.selections import NOW, SELECTED, WRITTEN


def forged(*key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def test_each_filter_selects_the_same_entries_as_on_postgresql(log: Log, conn: Any) -> None:
    for record, columns in WRITTEN.items():
        log.write(conn, record, table_name=f"{log.schema}.{'invoice' if record == '5' else 't'}", **columns)
    for ask, expected in SELECTED:
        assert records(conn, ask(audit.query())) == expected.split()


def test_an_entry_is_read_as_it_was_written(log: Log, conn: Any) -> None:
    snapshot = {"n": 12345678901234567, "Ünï 😀": 'a\nb"\\', "x": None}
    values: dict[str, Any] = {
        "operation": "UPDATE",
        "actor_id": "Zoë",
        "tenant_id": "acme",
        "db_user": "app@localhost",
        "before_data": snapshot,
        "after_data": {},
        "changed_fields": ["Ünï 😀", "n"],
        "label": "",
        "severity": "low",
        "compliance": [],
        "description": "a' or 1=1 --",
        "context": {"ip": "::1"},
    }
    log.write(conn, "7", timestamp=NOW + timedelta(microseconds=123000), **values)
    [entry] = audit.query().list(conn)
    assert entry.timestamp == NOW + timedelta(microseconds=123000)
    assert entry.timestamp.tzinfo is not None
    assert isinstance(entry.id, str)
    assert entry.table_name == f"{log.schema}.t"
    assert entry.before_data is not None
    assert entry.before_data.value == snapshot
    assert (entry.xact_id, entry.db_role, entry.redacted_fields) == (None, None, None)
    read = {name: getattr(entry, name) for name in values}
    jsons = {name: read[name].value for name in ("before_data", "after_data", "context")}
    assert read | jsons == values


TEXTS = ["a", "a ", "A", "ä", "a\u0301", "'", "\\", "%", "%s", "?", "a\tb", "😀", "", "x" * 400]


def test_texts_are_compared_exactly(log: Log, conn: Any) -> None:
    for text in TEXTS:
        log.write(conn, "1", actor_id=text, label=text, tenant_id=text, compliance=[text], changed_fields=[text])
        log.write(conn, text, table_name=f"{log.schema}.r", timestamp=NOW)
    asks: list[Callable[[AuditQuery, str], AuditQuery]] = [
        lambda q, text: q.actor(text),
        lambda q, text: q.actor(text, "none"),
        lambda q, text: q.label(text),
        lambda q, text: q.tenant(text),
        lambda q, text: q.compliance(text),
        lambda q, text: q.changed(text),
    ]
    of_table = audit.query().resource("t")
    for text in TEXTS:
        for ask in asks:
            [entry] = ask(of_table, text).list(conn)
            assert (entry.actor_id, entry.label, entry.compliance) == (text, text, [text])
        assert records(conn, audit.query().resource("r").record(text)) == [text]
        others = [entry.actor_id for entry in of_table.without(actor=[text]).list(conn)]
        assert sorted(str(other) for other in others) == sorted(set(TEXTS) - {text})


def test_tables_are_named_with_the_default_schema_or_without(log: Log, conn: Any) -> None:
    log.write(conn, "1")
    log.write(conn, "2", table_name='other."odd.name"')
    for name in ("t", "public.t", f"{log.schema}.t"):
        assert records(conn, audit.query().resource(name)) == ["1"]
        assert records(conn, audit.query().of_any_database().without(resource=[name])) == ["2"]
    assert records(conn, audit.query().resource('other."odd.name"')) == ["2"]
    assert records(conn, audit.query().resource("T")) == []


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_pages_forwards_and_backwards_hold_every_entry_once(log: Log, conn: Any, order: str) -> None:
    for record in range(1, 8):
        log.write(conn, str(record), timestamp=NOW + timedelta(days=40 * (record // 3)))  # three of them at one time
    expected = [str(record) for record in range(1, 8)]
    expected = expected if order == "oldest" else expected[::-1]
    for size in (1, 2, 3, 7):
        assert [entry.record_id for entry in all_rows(conn, audit.query().order(order).limit(size))] == expected
    only = audit.query().order(order).only("record_id").limit(2)
    assert [entry.record_id for entry in all_rows(conn, only)] == expected
    assert not hasattr(only.list(conn).data[0], "before_data")


def test_times_are_those_of_the_database_and_of_any_zone(log: Log, conn: Any) -> None:
    now = datetime.now(UTC)
    for record, age in (("1", 7200), ("2", 1800), ("3", 1)):
        log.write(conn, record, timestamp=now - timedelta(seconds=age))
    assert records(conn, audit.query().since("1h")) == ["3", "2"]
    assert records(conn, audit.query().until("PT1000S")) == ["2", "1"]
    assert records(conn, audit.query().since("365000d")) == ["3", "2", "1"]
    if not isinstance(log.at, Path):
        with closing(conn.cursor()) as cursor:
            cursor.execute("set time_zone = '+05:45'")
        assert records(conn, audit.query().since("1h")) == ["3", "2"]
    east = datetime.fromisoformat(f"{now - timedelta(seconds=1800):%Y-%m-%dT%H:%M:%S.%f}+00:00").astimezone()
    assert records(conn, audit.query().since(east)) == ["3", "2"]
    assert records(conn, audit.query().until(east)) == ["1"]
    assert records(conn, audit.query().since(datetime(1, 1, 1, tzinfo=UTC))) == ["3", "2", "1"]
    first, last = map(datetime.fromisoformat, ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"))
    assert records(conn, audit.query().since(first).until(last)) == ["3", "2", "1"]
    assert records(conn, audit.query().since(last)) == records(conn, audit.query().until(first)) == []


def test_a_page_ends_before_it_has_more_bytes(log: Log, conn: Any) -> None:
    for record in range(1, 6):
        log.write(conn, str(record), after_data={"x": "y" * 1000})

    async def read(query: AuditQuery) -> list[list[str | None]]:
        pages = []
        async with log.connect_async() as own:
            while True:
                page = await query.alist(own, max_bytes=2500)
                pages.append([entry.record_id for entry in page])
                if page.next_cursor is None:
                    return pages
                query = query.after(page.next_cursor)

    assert asyncio.run(read(audit.query())) == [["5", "4"], ["3", "2"], ["1"]]


@pytest.mark.parametrize("entry_id", [-1, 2**63, 10**30])
def test_a_cursor_with_a_number_that_is_no_id_is_refused(conn: Any, entry_id: int) -> None:
    for query in (audit.query(), audit.query().record("1")):
        with pytest.raises(QueryError, match="is not a cursor"):
            query.after(forged("2026-01-01T00:00:00Z", str(entry_id))).list(conn)


def test_numbers_of_transactions_that_no_database_has_select_nothing(log: Log, conn: Any) -> None:
    log.write(conn, "1", xact_id=5)
    assert records(conn, audit.query().transactions(since=10**30)) == []
    assert records(conn, audit.query().transactions(since=5, before=10**30)) == ["1"]


@pytest.mark.parametrize(
    "ask", [lambda q: q.containing('{"a": 1}'), lambda q: q.with_words("a")], ids=["contains", "words"]
)
def test_searches_are_refused_with_the_reason(conn: Any, ask: Callable[[AuditQuery], AuditQuery]) -> None:
    with pytest.raises(QueryError, match="on PostgreSQL only"):
        ask(audit.query()).list(conn)


def test_a_long_text_is_asked_for_like_any_other(log: Log, conn: Any) -> None:
    log.write(conn, "1", label="l" * 10_000)
    assert records(conn, audit.query().label("l" * 10_000)) == ["1"]
    assert records(conn, audit.query().label(*(f"{number}" * 5000 for number in range(2)))) == []


def test_a_database_without_a_log_is_named_as_such(log: Log) -> None:
    connected = sqlite3.connect(":memory:") if isinstance(log.at, Path) else log.connect()
    with closing(connected) as conn, closing(conn.cursor()) as cursor:
        if not isinstance(log.at, Path):
            cursor.execute("rename table svc.audit_logs to svc.other")
        try:
            with pytest.raises(NotInstalledError) as caught:
                audit.query().list(conn)
            with pytest.raises(NotInstalledError):
                audit.export(conn, audit.query(), format="csv", out=io.BytesIO())
        finally:
            if not isinstance(log.at, Path):
                cursor.execute("rename table svc.other to svc.audit_logs")
    assert caught.value.hint == "Run: svc-pg install"


def test_what_only_postgresql_tells_is_refused(conn: Any) -> None:
    with pytest.raises(ConfigError, match="what a transaction did is there on PostgreSQL only"):
        audit.transaction(7).list(conn)


@pytest.mark.parametrize("column", ["timestamp", "changed_fields", "compliance"])
def test_an_entry_that_somebody_has_forged_in_sqlite_is_named(log: Log, conn: Any, column: str) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("MySQL's columns have types")
    log.write(conn, "1", id=7, **{column: "8x"})
    with pytest.raises(QueryError, match="entry 7 of the log was not written by svc-pg"):
        audit.query().list(conn)
    assert not audit.query().compliance("gdpr").list(conn).data
    assert not audit.query().changed("a").list(conn).data
    counting = counted_facets(log_dialect_of(conn), audit.query().missing("compliance"), tells_reach=True)
    if column == "timestamp":
        with pytest.raises(QueryError, match="an entry of the log was not written by svc-pg"):
            run(conn, counting)
    else:
        assert run(conn, counting).entries == 1


def test_the_last_changes_of_a_record_are_plain_values(log: Log, conn: Any) -> None:
    fields = {f"f{number:02d}": number for number in range(25)} | {"long": "x" * 1000, "secret": None}
    log.write(
        conn,
        "[7, 2]",
        actor_id="ann",
        before_data=dict.fromkeys(fields),
        after_data=fields,
        changed_fields=["long", "secret", *(f"f{number:02d}" for number in range(25))],
        redacted_fields=["secret"],
        timestamp=datetime.now(UTC) - timedelta(minutes=3),
    )
    log.write(conn, "[7, 2]", operation="INSERT", after_data={"a": 1})
    [last, first] = audit.last_changes(conn, "t", (7, 2))
    assert (first.operation, first.actor, first.fields, first.db_user) == ("INSERT", None, [], None)
    assert (last.actor, last.ago, len(last.fields), last.more_fields) == ("ann", "3 min ago", 20, 7)
    long, secret, number = last.fields[:3]
    assert (long.before, long.after) == (None, "x" * 200 + "…")
    assert (secret.is_redacted, secret.after) == (True, None)
    assert (number.name, number.after) == ("f00", "0")
    assert [change.id for change in audit.last_changes(conn, "public.t", [7, 2], limit=1)] == [last.id]


def test_a_change_by_nobody_who_is_known_is_shown_as_somebodys(log: Log, conn: Any) -> None:
    log.write(conn, "1", operation="INSERT")
    environment = Environment()
    add_templates(environment)
    template = environment.get_template("svc_pg/who_changed.html")
    shown = template.render(changes=audit.last_changes(conn, "t", "1"))
    assert "somebody" in shown
    assert "None" not in shown
