import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from cli.status.seal_status import SealStatus, as_json
from svc_pg import audit
from svc_pg.database.query import RawJson
from svc_pg.formats.json_errors import NotJsonError
from svc_pg.formats.json_writer import encode

LAST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))
"""A time that UTC does not have."""


@dataclass(frozen=True, slots=True)
class Delivery:
    endpoint_id: str
    created_at: datetime
    last_status_code: int | None
    payload: RawJson | None = None


def test_fields_become_camel_case_and_times_utc() -> None:
    created_at = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=timezone(timedelta(hours=2)))
    assert json.loads(encode([Delivery("7", created_at, None)])) == [
        {"endpointId": "7", "createdAt": "2026-01-02T01:04:05.000678Z", "lastStatusCode": None, "payload": None}
    ]


def test_stored_json_is_written_verbatim() -> None:
    raw = RawJson('{"snake_case": 12345678901234567.10}')
    delivery = Delivery("7", datetime(2026, 1, 1, tzinfo=UTC), 200, raw)
    assert encode(delivery).endswith(b',"payload":{"snake_case": 12345678901234567.10}}')


def test_keys_of_a_mapping_are_data() -> None:
    assert encode({"before_data": {"a_b": 1}}) == b'{"before_data":{"a_b":1}}'


def test_other_values_have_one_form_each() -> None:
    values = (Decimal("1.10"), UUID(int=0), date(2026, 1, 2), timedelta(minutes=1.5), "é", True, None, 1)
    assert encode(values) == (
        '[1.10,"00000000-0000-0000-0000-000000000000","2026-01-02",90.0,"é",true,null,1]'.encode()
    )


def test_a_set_has_the_order_of_its_texts() -> None:
    assert encode({"b", "a", "c"}) == b'["a","b","c"]'


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), datetime(2026, 1, 1), LAST, b"x", object(), {(1, 2): 2}, Delivery],  # noqa: DTZ001
)
def test_what_has_no_json_form_is_an_error(value: object) -> None:
    with pytest.raises(NotJsonError, match=r"\$\.value"):
        encode({"value": value})


def test_status_writes_times_and_durations_as_the_api_does() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    verified = audit.LastVerification(at, timedelta(hours=1), 1, 7, 100, 0, 0, True, False, [], "me")  # noqa: FBT003
    status = json.loads(encode(as_json(SealStatus(audit.SealLag(7, at, timedelta(minutes=1.5)), verified))))
    assert status["seals"] == {"last": 7, "sealedAt": "2025-12-31T22:00:00.000000Z", "lag": 90.0}
    assert status["verification"]["verifiedAt"] == "2025-12-31T22:00:00.000000Z"
    assert status["verification"]["secondsAgo"] == 3600
