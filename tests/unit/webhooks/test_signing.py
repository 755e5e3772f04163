"""Signatures: what we sign verifies here and elsewhere, and hostile input gives a reason instead of a crash."""

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.message import Message
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg.errors import WebhookSignatureError
from svc_pg.integrations.fastapi import signed_webhook
from svc_pg.webhooks.signing import assert_webhook_signature, check_secret, sign, verify_webhook_signature
from svc_pg.webhooks.signing.signing_keys import new_secret, new_signing_key, public_key, signer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
TIMESTAMP = 1614265330
NOW = datetime.fromtimestamp(TIMESTAMP, UTC)
HEADERS = sign(delivery_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=TIMESTAMP, body=BODY, secrets=[SECRET])

PAIR = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
PUBLIC = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
ASYMMETRIC = sign(delivery_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=TIMESTAMP, body=BODY, secrets=[PAIR])

keys = st.binary(min_size=1, max_size=64).map(lambda key: "whsec_" + base64.b64encode(key).decode())


def reason(**changes: Any) -> str:
    """Why a delivery that is authentic but for these changes is refused."""
    arguments: dict[str, Any] = {"headers": HEADERS, "body": BODY, "secret": SECRET, "now": NOW}
    with pytest.raises(WebhookSignatureError) as refusal:
        assert_webhook_signature(**arguments | changes)
    return refusal.value.message


def signed(body: bytes) -> dict[str, Any]:
    """The headers that make this body authentic, and the body."""
    return {"headers": sign(delivery_id="m", timestamp=TIMESTAMP, body=body, secrets=[SECRET]), "body": body}


def test_the_vector_of_standard_webhooks_has_its_signature() -> None:
    assert HEADERS["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_vector_of_rfc_8032_has_its_public_key_and_its_signature() -> None:
    assert public_key(PAIR) == PUBLIC
    version, _, signature = signer(PAIR)(b"").partition(",")
    assert version == "v1a"
    assert (
        base64.b64decode(signature).hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    )


def test_a_pair_signs_what_its_public_key_alone_verifies() -> None:
    both = sign(delivery_id="m", timestamp=TIMESTAMP, body=BODY, secrets=[SECRET, PAIR])
    for key in (SECRET, PUBLIC, [PUBLIC, new_secret()], [public_key(new_signing_key()), PUBLIC]):
        assert verify_webhook_signature(headers=both, body=BODY, secret=key, now=NOW)
    for key in (new_secret(), public_key(new_signing_key())):
        assert reason(headers=both, secret=key) == "no signature matches"
    assert reason(headers=ASYMMETRIC) == "no signature matches"
    assert reason(headers=ASYMMETRIC, secret=PUBLIC, body=BODY + b" ") == "no signature matches"
    assert "from now" in reason(headers=ASYMMETRIC, secret=PUBLIC, now=NOW + timedelta(hours=1))


def test_ten_asymmetric_signatures_are_tried_and_no_more() -> None:
    [good] = ASYMMETRIC["webhook-signature"].split()
    wrong = "v1a," + base64.b64encode(bytes(64)).decode()
    for others, verifies in ((9, True), (10, False)):
        header = {"webhook-signature": " ".join(["v1,x", "v1a,?", *[wrong] * (others - 1), good])}
        assert verify_webhook_signature(headers=ASYMMETRIC | header, body=BODY, secret=PUBLIC, now=NOW) is verifies


def test_both_sets_of_headers_carry_the_same_values() -> None:
    assert HEADERS["X-Webhook-ID"] == HEADERS["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert HEADERS["X-Webhook-Timestamp"] == HEADERS["webhook-timestamp"] == str(TIMESTAMP)
    assert HEADERS["X-Webhook-Signature"] == HEADERS["webhook-signature"]


def test_a_new_secret_is_random_and_verifies_what_it_signs() -> None:
    secret = new_secret()
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret != new_secret()
    headers = sign(delivery_id="m", timestamp=TIMESTAMP, body=BODY, secrets=[secret])
    assert assert_webhook_signature(headers=headers, body=BODY, secret=secret, now=NOW) == {"test": 2432232314}


def test_the_current_time_is_the_default() -> None:
    now = int(datetime.now(UTC).timestamp())
    assert verify_webhook_signature(
        headers=sign(delivery_id="m", timestamp=now, body=BODY, secrets=[SECRET]), body=BODY, secret=SECRET
    )
    assert not verify_webhook_signature(headers=HEADERS, body=BODY, secret=SECRET)


@given(data=st.data())
def test_one_changed_byte_anywhere_is_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(BODY) - 1))
    changed = bytearray(BODY)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert reason(body=bytes(changed)) == "no signature matches"


@pytest.mark.parametrize(
    "headers",
    [
        {name: value for name, value in HEADERS.items() if name.startswith("X-")},
        {name: value for name, value in HEADERS.items() if name.startswith("w")},
        {name.upper(): value for name, value in HEADERS.items()},
        {name.encode(): value.encode() for name, value in HEADERS.items()},
        {name: [value] for name, value in HEADERS.items()},
        HEADERS | {"webhook-id": ""},
    ],
)
def test_either_set_of_headers_in_any_spelling_verifies(headers: Mapping[str, str]) -> None:
    assert verify_webhook_signature(headers=headers, body=BODY, secret=SECRET, now=NOW)


def test_headers_that_are_no_mapping_but_have_items_verify() -> None:
    message = Message()
    for name, value in HEADERS.items():
        message[name] = value
    assert verify_webhook_signature(headers=message, body=BODY, secret=SECRET, now=NOW)


def test_the_body_may_be_text() -> None:
    assert verify_webhook_signature(headers=HEADERS, body=BODY.decode(), secret=SECRET, now=NOW)


def test_the_secret_may_lack_its_prefix() -> None:
    assert verify_webhook_signature(headers=HEADERS, body=BODY, secret=SECRET.removeprefix("whsec_"), now=NOW)


def test_during_a_rotation_the_old_and_the_new_secret_verify() -> None:
    old, new = new_secret(), new_secret()
    headers = sign(delivery_id="m", timestamp=TIMESTAMP, body=BODY, secrets=[new, old])
    for secret in (old, new, [new_secret(), old]):
        assert verify_webhook_signature(headers=headers, body=BODY, secret=secret, now=NOW)
    assert reason(headers=headers, secret=new_secret()) == "no signature matches"


@pytest.mark.parametrize("version", ["v1a,", "v2,", "V1,", ""])
def test_signatures_of_other_versions_do_not_count(version: str) -> None:
    other = HEADERS["webhook-signature"].replace("v1,", version)
    assert reason(headers=HEADERS | {"webhook-signature": other}) == "no signature matches"
    both = f"{other} {HEADERS['webhook-signature']}"
    assert verify_webhook_signature(headers=HEADERS | {"webhook-signature": both}, body=BODY, secret=SECRET, now=NOW)


@pytest.mark.parametrize("sign_of", [1, -1])
def test_the_tolerance_holds_in_both_directions(sign_of: int) -> None:
    within, beyond = NOW + sign_of * timedelta(minutes=5), NOW + sign_of * timedelta(minutes=5, seconds=1)
    assert verify_webhook_signature(headers=HEADERS, body=BODY, secret=SECRET, now=within)
    assert "is more than 300 s from now" in reason(now=beyond)
    assert verify_webhook_signature(
        headers=HEADERS, body=BODY, secret=SECRET, tolerance=timedelta(minutes=6), now=beyond
    )


@pytest.mark.parametrize("tolerance", [360, 360.5, timedelta(minutes=6), timedelta.max])
def test_the_tolerance_is_a_duration_or_seconds(tolerance: Any) -> None:
    beyond = NOW + timedelta(minutes=5, seconds=30)
    assert verify_webhook_signature(headers=HEADERS, body=BODY, secret=SECRET, tolerance=tolerance, now=beyond)
    assert "more than 300 s" in reason(tolerance=300, now=beyond)
    assert "more than 300 s" in reason(tolerance=None, now=beyond), "a missing setting is no lack of a limit"


@pytest.mark.parametrize(
    "tolerance", ["5m", "300", True, float("nan"), float("inf"), -1, -0.5, 10**400, timedelta(seconds=-1), b"", [300]]
)
def test_a_tolerance_that_is_no_duration_is_refused_whatever_comes(tolerance: Any) -> None:
    assert "the tolerance is not a duration" in reason(tolerance=tolerance, body=b"another", now=NOW)
    with pytest.raises(WebhookSignatureError, match="tolerance"):
        signed_webhook(secret=SECRET, tolerance=tolerance)


@pytest.mark.parametrize("now", [TIMESTAMP, TIMESTAMP + 299.5, NOW.astimezone(timezone(timedelta(hours=5)))])
def test_now_is_a_time_with_its_zone_or_unix_seconds(now: Any) -> None:
    assert verify_webhook_signature(headers=HEADERS, body=BODY, secret=SECRET, now=now)


class BrokenZone(ZoneInfo):
    def utcoffset(self, when: datetime | None) -> timedelta:
        raise KeyError(when)


@pytest.mark.parametrize(
    "now",
    [
        NOW.replace(tzinfo=None),
        NOW.replace(tzinfo=BrokenZone("UTC")),
        NOW.date(),
        "now",
        float("nan"),
        10**400,
        True,
        [],
    ],
)
def test_another_now_is_refused(now: Any) -> None:
    assert "now is not a time with its zone" in reason(now=now)


@pytest.mark.parametrize(
    "timestamp", ["-1", "+1614265330", "1614265330.0", "1_614_265_330", "١٦١٤", "1" * 13, " 1", "x"]
)
def test_a_timestamp_is_ascii_digits_of_bounded_length(timestamp: str) -> None:
    changed = {"webhook-timestamp": timestamp, "X-Webhook-Timestamp": timestamp}
    assert reason(headers=HEADERS | changed) == "the timestamp is not a number of seconds"


@pytest.mark.parametrize("secret", [None, 7, [], "", "whsec_", "whsec_?", "whsec_QUJD\n", "whsec_QUI", b"QUJD", [None]])
def test_an_unusable_secret_is_a_reason(secret: Any) -> None:
    assert "secret" in reason(secret=secret)
    with pytest.raises(WebhookSignatureError, match="secret"):
        check_secret(secret)


@pytest.mark.parametrize(
    "key", ["whpk_", "whpk_QUJD", PUBLIC[:-1], PUBLIC + "A", "whpk_\ud800", PUBLIC.replace("+", "-")[:-5]]
)
def test_an_unusable_public_key_is_a_reason(key: str) -> None:
    assert reason(secret=key) == "a public key is not whpk_ and 32 bytes in base64"
    assert "whsec_" in reason(secret=PAIR), "a private key verifies nothing"


@pytest.mark.parametrize("secret", [SECRET, SECRET.removeprefix("whsec_"), [new_secret(), SECRET], (SECRET,)])
def test_a_usable_secret_passes_the_check(secret: Any) -> None:
    check_secret(secret)
    assert verify_webhook_signature(headers=HEADERS, body=BODY, secret=secret, now=NOW)


@pytest.mark.parametrize(
    "headers",
    [None, [], "webhook-id", 7, {}, {"webhook-id": None}, {None: "m"}, {7: [1, 2]}]
    + [SimpleNamespace(items=items) for items in (None, lambda: None, lambda: [7], lambda: [("id", "m", 7)])],
)
def test_headers_without_a_signature_are_a_reason(headers: object) -> None:
    assert "headers" in reason(headers=headers)


def test_a_parsed_body_is_explained() -> None:
    assert reason(body={"test": 2432232314}) == "the body is of type dict"


@pytest.mark.parametrize(
    "body",
    [b"", b"NaN", b'{"a": -Infinity}', b'{"a": ' + b"9" * 5000 + b"}", b"[" * 200_000, b'{"a": "\xff"}', b"{} {}"]
    + ["{}".encode(encoding) for encoding in ("utf-8-sig", "utf-16", "utf-32")],
)
def test_an_authentic_body_that_is_not_json_is_a_reason(body: bytes) -> None:
    assert "not JSON" in reason(**signed(body))


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"1e999"])
def test_an_authentic_body_that_is_no_object_is_a_reason(body: bytes) -> None:
    assert reason(**signed(body)) == "the body is not a JSON object"


public_keys = (st.just(bytes(32)) | st.binary(max_size=40)).map(lambda key: "whpk_" + base64.b64encode(key).decode())
names = st.sampled_from([*HEADERS, *(name.upper() for name in HEADERS)])
values = (
    st.sampled_from([*HEADERS.values(), *ASYMMETRIC.values()])
    | st.text()
    | st.binary()
    | st.none()
    | st.lists(st.text())
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(SECRET) | st.just(BODY),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    headers=st.dictionaries(names | names.map(str.encode) | st.text() | st.none(), values) | anything,
    body=st.text(st.characters()) | st.binary() | anything,
    secret=keys | public_keys | st.lists(keys | public_keys) | anything,
    tolerance=st.just(300) | st.timedeltas() | anything,
    now=st.just(NOW) | st.datetimes() | anything,
)
@example(headers=HEADERS | {"webhook-id": "\ud800"}, body=BODY, secret=SECRET, tolerance=300, now=NOW)
@example(headers=HEADERS | {"webhook-signature": "v1,\ud800"}, body="\ud800", secret=SECRET, tolerance=None, now=NOW)
@example(headers=HEADERS, body=BODY, secret="\ud800", tolerance=300, now=NOW)
@example(
    headers=HEADERS | {"webhook-signature": "v1a,\ud800 v1a, v1a"}, body=BODY, secret=PUBLIC, tolerance=300, now=NOW
)
def test_whatever_comes_in_the_result_is_true_or_false(
    headers: Any, body: Any, secret: Any, tolerance: Any, now: Any
) -> None:
    found = verify_webhook_signature(headers=headers, body=body, secret=secret, tolerance=tolerance, now=now)
    assert found in (True, False)


@given(body=st.binary())
def test_whatever_authentic_body_comes_in_there_is_an_envelope_or_a_reason(body: bytes) -> None:
    try:
        envelope = assert_webhook_signature(**signed(body), secret=SECRET, now=NOW)
    except WebhookSignatureError as error:
        assert error.message  # noqa: PT017 # either outcome is right
    else:
        assert json.loads(body) == envelope


def test_verifying_loads_nothing_but_what_is_ours() -> None:
    program = """if True:
        import sys
        import svc_pg
        before = set(sys.modules)
        import svc_pg.webhooks.signing
        added = {name.partition(".")[0] for name in {*sys.modules} - before}
        print(added - sys.stdlib_module_names)
    """
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "{'svc_pg'}"


@pytest.mark.parametrize(
    "receiver",
    ["from svc_pg.webhooks import assert_webhook_signature", "from svc_pg.integrations.fastapi import signed_webhook"],
)
def test_a_receiver_loads_neither_a_database_driver_nor_an_http_client(receiver: str) -> None:
    program = f"{receiver}\nimport sys\nprint({{'psycopg', 'psycopg_pool', 'httptools'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
