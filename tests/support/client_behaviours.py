"""The same calls by each client, and what each of them must find: tests/integration/console/test_client.py compares."""

from typing import Any, Final, Protocol

from svc_pg.client import ApiError, models
from tests.support.waiting import wait_until

EXPECTED: Final[dict[str, Any]] = {
    "pages of a filter": [1, 2, 2],
    "states": ["active", "paused", "active"],
    "deleted": [404, "unknown_endpoint"],
    "delivery": ["pending", "canceled", "pending"],
    "without a token": [401, "not_authenticated"],
    "without the permission": [403, "insufficient_scope"],
    "twice": [409, "tenant_exists"],
    "outdated": [412, "precondition_failed"],
    "parameter": [422, "invalid_parameter", "limit"],
    "body": [422, "invalid_endpoint"],
    "too often": [429, "rate_limited", True],
    "odd id": [404, "unknown_tenant"],
    "the same key": True,
    "another body": [422, "idempotency_key_reused"],
    "export": True,
    "csv": "id,timestamp,tableName",
    "events": ["following", "changed", True],
}
HOOK: Final = "https://9.9.9.9/hook"
TABLE: Final = "svc.webhook_endpoints"
ODD_ID: Final = "../a/b?c#d"


class Refusing(Protocol):
    """Makes a call that fails."""

    def __call__(self) -> object: ...


def refusal(call: Refusing) -> ApiError:
    """The error of a call that must fail."""
    try:
        call()
    except ApiError as error:
        return error
    raise AssertionError("the call succeeded")


def told(call: Refusing) -> list[Any]:
    """The status and the code of a call that must fail."""
    error = refusal(call)
    assert error.request_id
    return [error.status, error.code]


def behaviours(operator: Any, reader: Any, customer: Any, stranger: Any) -> dict[str, Any]:
    """Make the calls by clients with these tokens, or none, and return what each finds."""
    found: dict[str, Any] = {}

    def create(**more: Any) -> models.RegisteredEndpoint:
        made: models.RegisteredEndpoint = operator.endpoints.create(url=HOOK, events=["order.*"], **more)
        return made

    mine = {create(tenant="acme").id, create(tenant="acme").id}
    other = create(tenant="globex")
    page = operator.endpoints.list(tenant="acme", limit=1)
    rest = operator.endpoints.list(tenant="acme", limit=1, cursor=page.next_cursor)
    assert {each.id for each in [*page, *rest]} == mine
    assert {each.id for each in operator.endpoints.iterate(tenant="acme", page_size=1)} == mine
    found["pages of a filter"] = [len(page), len(page) + len(rest), len(mine)]

    read = operator.endpoints.get(other.id)
    found["states"] = [
        read.status, operator.endpoints.pause(other.id).status, operator.endpoints.resume(other.id).status,
    ]  # fmt: skip
    found["outdated"] = told(lambda: operator.endpoints.update(other.id, if_match='"0"', description="Orders"))
    fresh = operator.endpoints.get(other.id)
    assert operator.endpoints.update(other.id, if_match=fresh.etag, description="Orders").description == "Orders"
    operator.endpoints.delete(other.id)
    found["deleted"] = told(lambda: operator.endpoints.get(other.id))

    sent = operator.events.send(event="order.created", payload={"id": 7}, tenant="acme", delay=3600)
    [delivery, _] = operator.deliveries.list(message_id=sent.id)
    found["delivery"] = [
        delivery.status, operator.deliveries.cancel(delivery.id).status, operator.deliveries.retry(delivery.id).status,
    ]  # fmt: skip

    found["without a token"] = told(lambda: stranger.endpoints.list())
    found["without the permission"] = told(lambda: reader.endpoints.pause(other.id))
    found["twice"] = told(lambda: operator.tenants.create(id="acme", name="Another"))
    limited = refusal(lambda: operator.endpoints.list(limit=0))
    found["parameter"] = [limited.status, limited.code, limited.parameter]
    found["body"] = told(lambda: operator.endpoints.create(url="nonsense", events=["*"]))
    found["odd id"] = told(lambda: operator.tenants.get(ODD_ID))
    for _ in range(5):
        customer.endpoints.ping(delivery.endpoint_id)
    often = refusal(lambda: customer.endpoints.ping(delivery.endpoint_id))
    found["too often"] = [often.status, often.code, (often.retry_after or 0) > 0]

    made = {create(idempotency_key="shop-7").id for _ in range(2)}
    found["the same key"] = len(made) == 1
    found["another body"] = told(lambda: create(idempotency_key="shop-7", description="Another"))

    listed = [row.id for row in operator.entries.iterate(resource=TABLE, order="oldest", page_size=5)]

    def exported() -> list[str]:
        with operator.entries.export(resource=TABLE) as rows:
            return [row.id for row in rows]

    # an export leaves out what a transaction that still runs, of whatever database, may come before
    found["export"] = wait_until(lambda: exported() == listed != [], "the entries are settled")
    file = b"".join(operator.entries.export_file(format="csv", resource=TABLE)).decode()
    found["csv"] = file[:22]

    with operator.changes.stream() as events:
        begun = next(each for each in events if each.name != "alive")
        create(tenant="globex")
        changed = next(each for each in events if each.name == "changed" and "endpoints" in each.data)
    found["events"] = [begun.name, changed.name, "endpoints" in changed.data]
    return found
