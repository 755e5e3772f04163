"""Calls as requests: bodies, keys, and what is refused before anything is sent."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, get_type_hints
from uuid import UUID

import httpx
import pytest

from svc_pg.client import AsyncClient, CallError, Client, requests
from svc_pg.client.generated import operations
from svc_pg.client.operations import MAX_KEY_BYTES, PAGING, Arguments, call_of
from svc_pg.console.http.repeated_calls import KEY_BYTES
from svc_pg.errors import ConfigError
from svc_pg.formats.json_writer import write

TOKEN: Final = "svcpg_hunter2"
TOKEN_OF_A_DAY: Final = {"name": "report", "permission": "read", "expires_in": timedelta(days=1)}


def body(**members: Any) -> Any:
    made = call_of(operations.ENDPOINTS_CREATE, Arguments(body={"url": "https://x", "events": ["*"], **members}))
    return json.loads(made.body or b"")


def test_members_of_the_api_have_its_names_and_those_of_others_stay() -> None:
    made = body(max_in_flight=2, headers={"x_shop": "7"}, tls={"ca_bundle": "pem"}, filter=None)
    assert made["maxInFlight"] == 2
    assert made["headers"] == {"x_shop": "7"}
    assert made["tls"] == {"caBundle": "pem"}
    assert made["filter"] is None


def test_a_payload_is_sent_as_it_is() -> None:
    payload = {"line_items": [{"unit_price": 1.5}], "note": None, "odd": "\u2028é"}
    made = call_of(operations.EVENTS_SEND, Arguments(body={"event": "a", "payload": payload, "delay": timedelta(1)}))
    assert json.loads(made.body or b"") == {"event": "a", "payload": payload, "delay": 86400}


def test_times_and_durations_of_a_body_are_written_as_the_api_reads_them() -> None:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    recovered = call_of(operations.ENDPOINTS_RECOVER, Arguments(["1"], body={"since": timedelta(1.5), "until": at}))
    assert json.loads(recovered.body or b"") == {"since": "36h", "until": "2026-01-31T12:00:00+00:00"}
    made = call_of(operations.TOKENS_CREATE, Arguments(body=TOKEN_OF_A_DAY))
    assert b'"expiresIn": 86400}' in (made.body or b"")  # it takes whole numbers
    assert body(timeout=timedelta(seconds=2.5))["timeout"] == 2.5
    with pytest.raises(CallError, match=r"since is .*a positive duration"):
        call_of(operations.ENDPOINTS_RECOVER, Arguments(["1"], body={"since": timedelta(hours=-1)}))


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (requests.EntriesListQuery, "since", requests.PointInTime | None),
        (requests.RecoverEndpointRequest, "since", requests.PointInTime | None),
        (requests.ReplayMessagesRequest, "until", requests.PointInTime | None),
        (requests.EndpointsStatsQuery, "window", requests.Duration | None),
        (requests.EntriesPurgeQuery, "older_than", requests.Duration | None),
        (requests.SendEventRequest, "delay", requests.Seconds),
        (requests.CreateTokenRequest, "expires_in", requests.Seconds),
        (requests.SendEventRequest, "payload", object),
    ],
)
def test_the_types_of_times_and_durations_allow_objects(kind: Any, name: str, hint: Any) -> None:
    assert get_type_hints(kind)[name] == hint


@pytest.mark.parametrize("name", PAGING)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_all_pages_are_gone_through_and_no_other_position_is_taken(kind: Any, name: str) -> None:
    client = kind("https://shop.example")
    for iterate in (client.entries.iterate, client.deliveries.iterate):
        with pytest.raises(TypeError, match=f"unexpected argument '{name}'"):
            iterate(**{name: "7"})


def test_a_name_that_an_operation_does_not_take_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match="unexpected argument 'tennant'; known are"):
        call_of(operations.ENDPOINTS_LIST, Arguments(query={"tennant": "acme"}))
    with pytest.raises(TypeError, match="unexpected argument 'caBundle'"):
        body(tls={"caBundle": "pem"})
    with pytest.raises(TypeError, match="missing argument 'events'"):
        call_of(operations.ENDPOINTS_CREATE, Arguments(body={"url": "https://x"}))
    with pytest.raises(TypeError, match="missing argument 'time'"):
        call_of(operations.RECORDS_AS_OF, Arguments(path=["t", "1"], query={}))


def test_a_wrong_name_is_told_before_the_first_row_is_asked_for() -> None:
    with pytest.raises(TypeError, match="tennant"):
        Client("https://shop.example").entries.iterate(tennant="acme")  # type: ignore[call-arg] # what is tested


@pytest.mark.parametrize(
    "payload",
    [
        float("nan"),
        Decimal("inf"),
        {1, 2},
        object(),
        b"bytes",
        bytearray(b"bytes"),
        datetime(2026, 1, 31),  # noqa: DTZ001 - what is tested
        "\ud800",
    ],
    ids=lambda payload: type(payload).__name__,
)
def test_a_body_that_is_no_json_is_refused(payload: object) -> None:
    with pytest.raises(CallError, match="the body is not JSON") as refused:
        call_of(operations.EVENTS_SEND, Arguments(body={"event": "a", "payload": {"lines": [payload]}}))
    assert isinstance(payload, str) or "$.payload.lines[0] is" in str(refused.value)


def test_a_payload_may_have_what_the_library_sends() -> None:
    payload = {"total": Decimal("12345678901234567.890"), "at": datetime(2026, 1, 31, tzinfo=UTC), "id": UUID(int=7)}
    made = call_of(operations.EVENTS_SEND, Arguments(body={"event": "a", "payload": payload}))
    assert made.body is not None
    assert json.loads(made.body)["payload"] == json.loads(write(payload))
    assert b"12345678901234567.890" in made.body


def test_each_call_that_makes_something_has_a_key_of_its_own() -> None:
    given = Arguments(body={"url": "https://x", "events": ["*"]})
    one, other = (call_of(operations.ENDPOINTS_CREATE, given) for _ in range(2))
    assert one.headers["Idempotency-Key"] != other.headers["Idempotency-Key"]
    assert one.is_repeatable
    assert "Idempotency-Key" not in call_of(operations.ENDPOINTS_PAUSE, Arguments(path=["1"])).headers


def test_a_key_has_the_bound_of_the_server() -> None:
    assert MAX_KEY_BYTES == KEY_BYTES
    with pytest.raises(CallError, match="1024"):
        call_of(operations.TENANTS_CREATE, Arguments(body={"name": "Acme"}, idempotency_key="k" * 1025))


@pytest.mark.parametrize("value", ["", " ", "a\nb", "a\r\nX: y", "tokén", "a "])
def test_what_no_header_can_carry_is_refused_and_not_told(value: str) -> None:
    for given in (Arguments(path=["1"], idempotency_key=value), Arguments(path=["1"], if_match=value)):
        with pytest.raises(CallError, match=r"^(idempotency_key|if_match) is empty, or has"):
            call_of(operations.ENDPOINTS_ROTATE_SECRET, given)
    with pytest.raises(CallError, match="token is empty, or has a character") as refused:
        Client("https://shop.example", token=f"{TOKEN}{value or chr(10)}")
    assert TOKEN not in f"{refused.value!r} {refused.value.hint}"


def test_a_guard_that_is_none_is_refused_and_does_not_let_the_change_through() -> None:
    guarded = call_of(operations.ENDPOINTS_UPDATE, Arguments(path=["1"], if_match='"4f"', body={"description": "x"}))
    assert guarded.headers["If-Match"] == '"4f"'
    assert "If-Match" not in call_of(operations.ENDPOINTS_UPDATE, Arguments(path=["1"])).headers
    with Client("https://shop.example") as client, pytest.raises(CallError, match="if_match is None") as refused:
        client.endpoints.update("1", if_match=None, description="Orders")
    assert refused.value.hint


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": timedelta(0)},
        {"patience": timedelta(seconds=-1)},
        {"max_attempts": 0},
        {"max_bytes": 0},
        {"timeout": timedelta.max},
        {"patience": timedelta.max},
    ],
)
def test_bounds_that_are_none_are_refused(options: Any) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ConfigError, match=r"are more than 0|are at most 365 days"):
            kind("https://shop.example", **options)


def test_a_client_of_httpx_may_answer_by_itself_as_in_tests_of_an_application() -> None:
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json={"data": [], "nextCursor": None}))
    with httpx.Client(transport=answers) as own:
        client = Client("https://shop.example", http_client=own)
        assert list(client.endpoints.iterate()) == []
        assert b"".join(client.entries.export_file()).startswith(b"{")


def test_a_token_is_in_no_text_about_a_client() -> None:
    client = Client("https://shop.example", token=TOKEN)
    call = call_of(operations.SIGN_IN_POLL, Arguments(query={"session_id": "1"}, device_token=TOKEN))
    assert call.token == TOKEN
    given = Arguments(device_token=TOKEN, body={"token": TOKEN})
    opened = call_of(operations.PORTAL_OPEN, given)
    assert TOKEN in str(opened.body)
    for each in (client, vars(client), client.endpoints, vars(client.endpoints), call, given, opened):
        assert "hunter2" not in repr(each)
