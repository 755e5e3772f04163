"""Answers as objects: those of a newer server too, and none of what does not fit."""

import json
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from pydantic import ValidationError

from svc_pg.client import Page, UnexpectedAnswerError, models
from svc_pg.client.answers import read
from svc_pg.client.streams import Lines, ServerEvent, ServerEvents
from tests.support.client_source import committed_document

TENANT: Final = {
    "id": "acme",
    "name": "Acme",
    "createdAt": "2026-03-14T09:26:53.589793Z",
    "updatedAt": "2026-03-14T09:26:53.589793Z",
}
SCHEMAS: Final = committed_document()["components"]["schemas"]


def example(schema: Any) -> Any:
    """A value of a schema, by its examples."""
    if schema.get("examples"):
        return schema["examples"][0]
    if "$ref" in schema:
        return example(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    kind = schema.get("type", "null")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example(member) for name, member in schema.get("properties", {}).items()}
    one: dict[str, Any] = {"string": "a text", "integer": 1, "number": 1.5, "boolean": True, "null": None}
    return [example(schema["items"])] if kind == "array" else one[kind]


@pytest.mark.parametrize("name", sorted(models.__all__))
def test_every_model_reads_what_the_document_describes(name: str) -> None:
    made = example(SCHEMAS[name])
    found = read(getattr(models, name), json.dumps(made).encode(), {"etag": '"4f"', "x-request-id": "r1"})
    assert (found.etag, found.request_id) == ('"4f"', "r1")
    assert found.model_dump(by_alias=True).keys() == made.keys()


def test_members_and_values_of_a_newer_server_are_kept() -> None:
    made = example(SCHEMAS["Endpoint"]) | {"status": "quarantined", "addedLater": {"a": [1]}}
    endpoint = read(models.Endpoint, json.dumps(made).encode(), {})
    assert endpoint.status == "quarantined"
    assert endpoint.model_extra == {"addedLater": {"a": [1]}}


def test_a_row_may_lack_the_fields_that_were_not_asked_for() -> None:
    body = b'{"data": [{"id": "7", "timestamp": "2026-03-14T09:26:53Z", "tableName": "t"}], "nextCursor": "c"}'
    page = read(Page[models.Entry], body, {})
    [entry] = page
    assert (entry.timestamp, entry.operation, entry.after_data) == (
        datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC),
        None,
        None,
    )
    assert (len(page), page.next_cursor, page.prev_cursor) == (1, "c", None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"<html>hunter2",
        b'"hunter2"',
        b'{"id": "hunter2"}',
        b"\xff",
        b"[" * 100_000,
        b'{"id": 1e999}',
        b'{"id": 1e99999999999999999999}',
        b'{"id": 1%s}' % (b"0" * 5000),
        b'{"id": NaN}',
        '{"id": "hunter2"}'.encode("utf-16"),
        b'{"id": "\\ud800", "name": "hunter2"}',
    ],
    ids=lambda body: body[:20],
)
def test_an_answer_that_does_not_fit_is_an_error_without_its_content(body: bytes) -> None:
    with pytest.raises(UnexpectedAnswerError, match="does not fit") as failed:
        read(models.Tenant, body, {})
    assert "hunter2" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


def test_numbers_of_the_log_keep_all_their_digits() -> None:
    text = """{"id": "7", "timestamp": "2026-03-14T09:26:53.5Z", "tableName": "t",
        "afterData": {"total": 12345678901234567.89, "rate": 0.10, "big": 123456789012345678901, "tiny": 1e-400}}"""
    [row] = Lines(models.Entry, 1000).feed(b" ".join(text.encode().splitlines()) + b"\n")
    page = read(Page[models.Entry], b'{"data": [%s]}' % text.encode(), {})
    for entry in (row, *page):
        assert entry.timestamp == datetime(2026, 3, 14, 9, 26, 53, 500_000, tzinfo=UTC)
        assert {name: str(value) for name, value in entry.after_data.items()} == {
            "total": "12345678901234567.89",
            "rate": "0.10",
            "big": "123456789012345678901",
            "tiny": "1E-400",
        }


def test_a_number_of_the_api_itself_is_a_float() -> None:
    made = read(models.Endpoint, json.dumps(example(SCHEMAS["Endpoint"]) | {"timeout": 2.5}).encode(), {})
    assert (made.timeout, type(made.timeout)) == (2.5, float)


def test_an_answer_where_none_is_due_is_an_error() -> None:
    read(type(None), b"", {})
    with pytest.raises(UnexpectedAnswerError, match="none was due"):
        read(type(None), b"<html>Sign in</html>", {})


def test_answers_do_not_change_and_show_no_secret() -> None:
    made = read(models.CreatedToken, json.dumps(example(SCHEMAS["CreatedToken"]) | {"token": "hunter2"}).encode(), {})
    assert made.token == "hunter2"
    assert "hunter2" not in repr(made)
    with pytest.raises(ValidationError, match="frozen"):
        made.token = "another"  # type: ignore[misc] # what is tested


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_rows_are_whole_wherever_the_parts_are_cut(size: int) -> None:
    tenants = [TENANT | {"name": f"Acmé {number}"} for number in range(5)]
    text = "\n".join(json.dumps(each, ensure_ascii=False) for each in tenants).encode()
    reader = Lines(models.Tenant, 1000)
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    found = [row for part in parts for row in reader.feed(part)] + list(reader.end())
    assert [each.name for each in found] == [each["name"] for each in tenants]


def test_a_row_that_is_cut_or_without_an_end_is_an_error() -> None:
    reader = Lines(models.Tenant, 1000)
    assert list(reader.feed(b'\n{"id": "acme", ')) == []
    with pytest.raises(UnexpectedAnswerError, match="does not fit"):
        list(reader.end())
    endless = Lines(models.Tenant, 1000)
    with pytest.raises(UnexpectedAnswerError, match="more than 1,000 bytes"):
        [*endless.feed(b"x" * 700), *endless.feed(b"x" * 700)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_events_are_read_as_the_standard_says(end: bytes) -> None:
    lines = [
        b"retry: 3000",
        b"",
        b": a comment",
        b"event: following",
        b"data: []",
        b"",
        b"data:[",
        b"data: 1]",
        b"id: 7",
        b"",
    ]
    reader = ServerEvents(1000)
    found = list(reader.feed(end.join(lines) + end + b'event: cut\ndata: ["lost"'))
    assert found + list(reader.end()) == [ServerEvent("following", []), ServerEvent("message", [1])]


def test_an_event_has_a_bound() -> None:
    reader = ServerEvents(1000)
    with pytest.raises(UnexpectedAnswerError, match="more than 1,000 bytes"):
        list(reader.feed(b"data: 11111111\n" * 120))
