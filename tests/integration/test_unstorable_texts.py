"""Texts that PostgreSQL cannot store are refused by our own errors, before anything is sent."""

from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, webhooks
from svc_pg.errors import ConfigError, QueryError

TEXTS = ["a\0b", "a\udcff"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("option", ["event", "tenant", "idempotency_key", "key"])
def test_a_message_with_one_is_refused(conn: psycopg.Connection[Any], option: str, text: str) -> None:
    values: dict[str, Any] = {"event": "order.created", option: text}
    with pytest.raises(QueryError, match=option):
        webhooks.send(conn, payload={}, **values)
    for name in ("key", "idempotency_key"):
        values[name + "s"] = [values.pop(name, None)]
    with pytest.raises(QueryError, match=option):
        webhooks.send_many(conn, payloads=[{}], **values)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("option", ["table_name", "record_id", "label", "description", "compliance"])
def test_an_entry_with_one_is_refused(conn: psycopg.Connection[Any], option: str, text: str) -> None:
    values: dict[str, Any] = {"table_name": "file", option: [text] if option == "compliance" else text}
    with pytest.raises(QueryError, match=option):
        audit.capture_log(conn, operation="INSERT", **values)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("text", TEXTS)
def test_a_snapshot_and_a_context_with_one_are_refused(conn: psycopg.Connection[Any], text: str) -> None:
    for value in ({"a": {text: 1}}, {"a": [f"\\{text}"]}, {"a": f"{text}\U0001f600"}):
        with pytest.raises(QueryError, match="the snapshot contains NUL or a lone surrogate"):
            audit.capture_log(conn, "file", "INSERT", after=value)
        with pytest.raises(ValueError, match="a context has no NUL and no lone surrogates"):
            audit.Actor("alice", context=value)
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    kept = {"a\\u0000": ["\U0001f600", "\\ud800"]}
    audit.capture_log(conn, "file", "INSERT", after=kept)
    with audit.actor(conn, "alice", context=kept):
        audit.capture_log(conn, "file", "UPDATE", after=kept)
    entry = audit.query().limit(1).list(conn).data[0]
    assert entry.after_data == entry.context == kept


@pytest.mark.parametrize("text", TEXTS)
def test_a_table_with_one_is_no_table_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"table name|valid string"):
        Config().audit.table(text)
