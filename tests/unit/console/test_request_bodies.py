from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import Field
from starlette.datastructures import Headers, QueryParams

from svc_pg.console import ConsoleRequest, Problem, RequestBody, created, read_body
from svc_pg.console.http.body import MAX_ERRORS


class Line(RequestBody):
    sku: str
    quantity: int = Field(ge=1)


class Order(RequestBody):
    customer_id: UUID
    placed_at: datetime | None = None
    lines: list[Line] = Field(default=[])
    notes: dict[str, str] = Field(default={})


class Filters(RequestBody):
    since: str | None = None


def request(content: bytes = b"", **fields: Any) -> ConsoleRequest:
    values = {"method": "POST", "path": "/shop/orders", "query": QueryParams(""), "request_id": "r-1"} | fields
    return ConsoleRequest(headers=Headers({}), content=content, **values)


def refused(content: bytes) -> list[dict[str, str]]:
    """The errors of a body that is no order."""
    with pytest.raises(Problem) as refusal:
        read_body(request(content), Order)
    assert (refusal.value.status, refusal.value.code) == (422, "invalid_body")
    errors: Any = refusal.value.members["errors"]
    return list(errors)


CUSTOMER = b'"customerId": "6f9619ff-8b86-d011-b42d-00c04fc964ff"'


def test_a_body_becomes_an_instance_of_the_model() -> None:
    content = b"{" + CUSTOMER + b', "placedAt": "2026-01-02T03:04:05Z", "lines": [{"sku": "A", "quantity": 2}]}'
    order = read_body(request(content), Order)
    assert order.customer_id == UUID("6f9619ff-8b86-d011-b42d-00c04fc964ff")
    assert (order.placed_at is not None, order.lines[0].quantity) == (True, 2)


def test_no_body_is_one_without_fields() -> None:
    assert read_body(request(), Filters).since is None
    with pytest.raises(Problem):
        read_body(request(), Order)


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        (b'"customer_id": "x"', "/customer_id"),
        (b'"colour": "red"', "/colour"),
        (b'"lines": [{"sku": "A", "quantity": "2"}]', "/lines/0/quantity"),
        (b'"lines": [{"sku": "A", "quantity": 1}, {"sku": 7, "quantity": 1}]', "/lines/1/sku"),
        (b'"lines": [{"sku": "A", "quantity": 0}]', "/lines/0/quantity"),
        (b'"placedAt": "tomorrow"', "/placedAt"),
        (b'"notes": {"a/b~c": 1}', "/notes/a~1b~0c"),
        (b'"notes": null', "/notes"),
    ],
)
def test_each_error_says_where(members: bytes, pointer: str) -> None:
    [error] = refused(b"{" + CUSTOMER + b", " + members + b"}")
    assert error["pointer"] == pointer
    assert error["detail"]


@pytest.mark.parametrize("content", [b"null", b"[]", b'"text"', b"7"])
def test_a_body_that_is_no_object_has_its_error_at_the_root(content: bytes) -> None:
    assert [error["pointer"] for error in refused(content)] == [""]


def test_the_list_of_errors_is_short_and_repeats_nothing_of_the_body() -> None:
    errors = refused(b"{" + CUSTOMER + b', "notes": {' + b", ".join(b'"%d": ["secret"]' % n for n in range(99)) + b"}}")
    assert len(errors) == MAX_ERRORS
    assert "secret" not in str(errors)


def test_a_location_is_below_the_path_of_the_request() -> None:
    response = created(request(base_path="/behind/.well-known/svc"), "a/b é", {"id": 7})
    assert (response.status, response.body) == (201, {"id": 7})
    assert response.headers["Location"] == "/behind/.well-known/svc/shop/orders/a%2Fb%20%C3%A9"
