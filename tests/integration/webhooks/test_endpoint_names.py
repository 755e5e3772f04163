"""An endpoint is named by its id, its description, its URL or its host; the beginning of one is only a hint."""

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from svc_pg.errors import NotFoundError, QueryError
from svc_pg.webhooks.endpoints.endpoint_names import MOST_CANDIDATES, id_of
from tests.support.hooks import endpoint, hooks_config
from tests.support.queue import add_endpoints

CONFIG = hooks_config("order.created")
Connection = psycopg.Connection[Any]


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def shop(database: str) -> str:
    return endpoint(database, CONFIG, "https://shop.example/hook?token=secret", description="The Shop")[0]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    "text",
    [
        "The Shop",
        "the shop",
        "https://shop.example/hook",
        "HTTPS://SHOP.example/hook",
        "shop.example",
        "https://shop.example/hook?token=secret",
    ],
)
def test_it_is_named_by_its_description_or_its_url(database: str, db: Connection, shop: str, text: str) -> None:
    endpoint(database, CONFIG, "https://other.example/hook", description="Workshop")
    assert id_of(db, text) == shop


def test_it_is_named_by_its_id(db: Connection, shop: str) -> None:
    assert id_of(db, shop) == shop
    assert id_of(db, shop.upper()) == shop
    missing = str(uuid4())
    assert id_of(db, missing) == missing, "who asks for it is told that there is none"


def test_the_beginning_of_a_name_names_none_and_tells_whose_it_is(db: Connection, shop: str) -> None:
    for text in ("the s", "https://shop", shop[:13]):
        with pytest.raises(NotFoundError) as refused:
            id_of(db, text)
        assert refused.value.hint == f"These begin so: {shop} (The Shop, https://shop.example/hook)."


def test_a_whole_name_goes_before_the_beginning_of_another(database: str, db: Connection, shop: str) -> None:
    longer = endpoint(database, CONFIG, "https://second.example/hook", description="The Shop in town")[0]
    assert id_of(db, "the shop") == shop
    assert id_of(db, "the shop in town") == longer


def test_a_tenant_cannot_take_the_name_by_which_another_one_is_called(database: str, db: Connection, shop: str) -> None:
    other = endpoint(database, CONFIG, "https://other.example/hook", description="the", tenant="mallory")[0]
    with pytest.raises(QueryError, match="'the' may be an endpoint of several tenants") as refused:
        id_of(db, "the")
    assert refused.value.hint is not None
    assert {shop, other} == set(re.findall(r"[0-9a-f-]{36}", refused.value.hint))


def test_several_are_an_error_with_their_ids_and_without_the_query_of_a_url(
    database: str, db: Connection, shop: str
) -> None:
    other = endpoint(database, CONFIG, "https://shop.example/other")[0]
    with pytest.raises(QueryError, match=re.escape("'shop.example' may be one of several endpoints")) as refused:
        id_of(db, "shop.example")
    assert refused.value.hint == (
        f"Write its id: {shop} (The Shop, https://shop.example/hook), {other} (https://shop.example/other)."
    )


def test_of_many_the_first_are_listed(db: Connection) -> None:
    add_endpoints(db, MOST_CANDIDATES + 5)
    with pytest.raises(NotFoundError) as refused:
        id_of(db, "127.0")
    assert refused.value.hint is not None
    assert refused.value.hint.count("http://127.0.0.1:9") == MOST_CANDIDATES
    assert refused.value.hint.endswith("), and more.")


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("text", ["", " ", "hop", "%", "token", "https://shop.example/hook?t", "s\x1bp", "ö"])
def test_what_names_none_is_an_error(db: Connection, text: str) -> None:
    with pytest.raises(NotFoundError, match=r"no endpoint has the id .*, or is called so"):
        id_of(db, text)
