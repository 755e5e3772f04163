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


@pytest.mark.parametrize("option", ["tenant", "idempotency_key", "key"])
def test_a_message_with_what_is_no_text_is_refused(conn: psycopg.Connection[Any], option: str) -> None:
    values: dict[str, Any] = {option: 7}
    with pytest.raises(QueryError, match=f"{option} is 7, not a str"):
        webhooks.send(conn, "order.created", {}, **values)
    for name in ("key", "idempotency_key"):
        values[name + "s"] = [values.pop(name, None)]
    with pytest.raises(QueryError, match=f"{option} is 7, not a str"):
        webhooks.send_many(conn, "order.created", [{}], **values)


def test_a_tenant_that_no_index_could_hold_is_refused(conn: psycopg.Connection[Any]) -> None:
    longest = "".join(map(chr, range(0x20000, 0x20100)))  # of four bytes each
    with conn.transaction(force_rollback=True):
        conn.execute(
            "insert into svc.webhook_event_types (name, description, patterns)"
            " values ('order.created', '', '{order.created,*}')"
        )
        webhooks.send(conn, "order.created", {}, tenant=longest, idempotency_key=longest)
    for more in (longest + "a", longest * 4):
        with pytest.raises(QueryError, match="a tenant has at most 1024 bytes"):
            webhooks.send(conn, "order.created", {}, tenant=more)
        with pytest.raises(QueryError, match="a tenant has at most 1024 bytes"):
            webhooks.send_many(conn, "order.created", [{}, {}], tenant=more)


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
