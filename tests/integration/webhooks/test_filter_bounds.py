"""The bounds of filters: neither one nor all of a tenant hold up a sender, and usual ones are always decided."""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import scalar
from tests.support.hooks import hooks_config, install
from tests.support.postgres import Prepare

CONFIG: Final = hooks_config("order.created")
USUAL: Final = '$.amount > 100 && $.currency == "EUR"'
DEAR: Final = " || ".join(["$.a==2"] * 100)
ITEMS: Final = {"amount": 101, "currency": "EUR", "a": [1] * 4900}
REGISTER: Final = """
insert into svc.webhook_endpoints (id, url, tenant, events, filter, secret)
select svc.webhook_uuid7(), 'http://127.0.0.1:9/', %s, '{*}', %s, '' from generate_series(1, %s)
"""
FOUND: Final = """
select coalesce(e.tenant, 'nobody'), e.filter, d.status, count(*),
       count(*) filter (where d.last_error ~ 'too many values \\(4902\\) for the steps of all filters of the tenant')
  from svc.webhook_deliveries d join svc.webhook_endpoints e on e.id = d.endpoint_id
 where d.message_id = %s group by 1, 2, 3
"""


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def found(db: psycopg.Connection[Any], message: object) -> dict[tuple[str, str, str], tuple[int, int]]:
    """By tenant, filter and status, how many deliveries there are, and how many failed by the tenant's bound."""
    rows = db.execute(FOUND, (message,)).fetchall()
    return {(tenant, path, status): (number, beyond) for tenant, path, status, number, beyond in rows}


@pytest.mark.parametrize("way", ["send", "send_many"])
def test_usual_filters_of_a_tenant_are_decided_however_many(db: psycopg.Connection[Any], way: str) -> None:
    db.execute(REGISTER, ("acme", USUAL, 200))
    payload = ITEMS | {"a": [1] * 1200}
    if way == "send":
        messages = [webhooks.send(db, "order.created", payload, tenant="acme")]
    else:
        messages = webhooks.send_many(db, "order.created", [payload, payload], tenant="acme")
    for message in messages:
        assert found(db, message) == {("acme", USUAL, "pending"): (200, 0)}


@pytest.mark.parametrize("way", ["send", "send_many"])
def test_dear_filters_of_a_tenant_have_a_time_together_and_hinder_no_others(
    db: psycopg.Connection[Any], way: str
) -> None:
    """Each alone could be decided; all together would take a second, and so would those of whoever had more."""
    db.execute(REGISTER, ("acme", DEAR, 100))
    db.execute(REGISTER, ("acme", USUAL, 3))
    db.execute(REGISTER, (None, USUAL, 2))
    if way == "send":
        messages = [webhooks.send(db, "order.created", ITEMS, tenant="acme")]
    else:
        messages = webhooks.send_many(db, "order.created", [ITEMS, ITEMS], tenant="acme")
    total = 0
    for message in messages:
        states = found(db, message)
        number, beyond = states.pop(("acme", DEAR, "failed"), (0, 0))
        assert number == beyond
        total += number
        assert states == {("acme", USUAL, "pending"): (3, 0), ("nobody", USUAL, "pending"): (2, 0)}
    assert total > 0


def test_a_filter_alone_is_decided_if_its_steps_fit_the_payload(db: psycopg.Connection[Any]) -> None:
    db.execute(REGISTER, ("acme", DEAR, 1))
    message = webhooks.send(db, "order.created", {"a": [1] * 4900 + [2]}, tenant="acme")
    assert found(db, message) == {("acme", DEAR, "pending"): (1, 0)}
    message = webhooks.send(db, "order.created", {"a": [2] * 5001}, tenant="acme")
    assert found(db, message) == {("acme", DEAR, "failed"): (1, 0)}
    error = scalar(db, "select last_error from svc.webhook_deliveries where message_id = %s", (message,))
    assert error.endswith("cannot be decided: the payload has too many values (5001) for its steps (200)")


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        (USUAL, 4),
        ('$.items.sku == "A-1"', 3),
        ("exists($.items ? (@.n == 1))", 7),
        ("$.a.double() > 1", 4099),
        ("$.a . double ( ) /* as a number */ > 1", 4099),
        ('$.at.datetime() < "2026-01-01".datetime()', 132),
        (None, None),
    ],
)
def test_the_steps_of_a_filter_are_its_paths_accessors_and_methods(
    db: psycopg.Connection[Any], path: str | None, steps: int | None
) -> None:
    assert scalar(db, "select svc.webhook_filter_steps(%s)", (path,)) == steps


def test_a_filter_may_not_write_numbers_out(db: psycopg.Connection[Any]) -> None:
    """1e100000 has six characters in a payload, and 100,001 if it is a text."""
    if db.info.server_version < 170000:
        pytest.skip("PostgreSQL has string() and decimal() since 17")
    for path in ('$.a.string() == "1"', "$.a.decimal() == 1", "$.a.decimal(5, 2) == 1"):
        with pytest.raises(psycopg.Error, match=r"the filter contains string\(\) or decimal\(\)") as caught:
            db.execute("select svc.webhook_checked_filter(%s)", (path,))
        assert caught.value.sqlstate == "SV103"
