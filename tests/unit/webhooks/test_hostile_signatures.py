"""The verifier accepts what the specification accepts and nothing else, by an oracle of a few lines beside it."""

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from hypothesis import event, given, target
from hypothesis import strategies as st

from svc_pg.errors import WebhookSignatureError
from svc_pg.webhooks.signing import assert_webhook_signature

NOW: Final = 1_800_000_000
KEYS: Final = [b"first key of twenty-four", b"second one, long enough.", b"third, which nobody has."]
SECRETS: Final = ["whsec_" + base64.b64encode(key).decode() for key in KEYS]
RIGHT: Final = [b'{"id": "m"}', b'{"id": "n"}', b"{}", b'{"id":"m"}', b"{} "]
BODIES: Final = [*RIGHT, b"[]", b"NaN", b'{"a": "\xff"}', b""]
IDS: Final = ["m", "n", "m.1", "m m", "", "m\0", "é", "m.1800000000.{}"]
IN_TIME: Final = [str(NOW + each) for each in (0, 1, -1, 299, 300, -300)]
TIMES: Final = [*IN_TIME, str(NOW + 301), str(NOW - 301), "", "-1", f" {NOW}", f"+{NOW}", "9" * 12]
DEPTHS: Final = ["headers", "timestamp is not", "no signature", "more than", "JSON"]


def signature(key: bytes, delivery_id: str, timestamp: str, body: bytes) -> str:
    content = f"{delivery_id}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def is_right(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes]) -> bool:
    """True if the specification accepts the request at NOW, and its body is a JSON object."""
    for prefix in ("webhook-", "x-webhook-"):
        delivery_id, timestamp, given = (headers.get(prefix + name, "") for name in ("id", "timestamp", "signature"))
        if delivery_id and timestamp and given:
            break
    else:
        return False
    try:
        age = abs(NOW - int(timestamp)) if timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12 else 999
        document = json.loads(body.decode())
    except ValueError:
        return False
    wanted = {"v1," + signature(key, delivery_id, timestamp, body) for key in keys}
    return age <= 300 and isinstance(document, dict) and bool(wanted & {*given.split()})


@st.composite
def requests(draw: st.DrawFn) -> tuple[dict[str, str], bytes]:
    """Headers and a body, of which some belong together and others do not."""
    headers: dict[str, str] = {}
    body = draw(st.sampled_from(RIGHT * 3 + BODIES))
    for prefix in draw(st.sampled_from([["webhook-"], ["x-webhook-"], ["webhook-", "x-webhook-"]])):
        delivery_id, timestamp = draw(st.sampled_from(IDS)), draw(st.sampled_from(IN_TIME * 3 + TIMES))
        candidates = []
        for _ in range(draw(st.integers(0, 4))):
            right = signature(draw(st.sampled_from(KEYS)), delivery_id, timestamp, body)
            of_another = draw(st.sampled_from(IDS)), draw(st.sampled_from(TIMES)), draw(st.sampled_from(BODIES))
            other = signature(KEYS[0], *of_another)
            version = draw(st.sampled_from(["v1,"] * 5 + ["v1a,", "V1,", "v1", "v1,,", ",", "v2,"]))
            nearly = [right[:-1], right + "=", right.lower(), "", "é", "\ud800", other, other]
            candidates.append(version + draw(st.sampled_from([right] * 5 + nearly)))
        headers[prefix + "id"] = delivery_id
        headers[prefix + "timestamp"] = timestamp
        headers[prefix + "signature"] = draw(st.sampled_from([" ", " ", "  ", ",", "\t"])).join(candidates)
    for name in draw(st.lists(st.sampled_from([*headers]), max_size=1)) * draw(st.booleans()):
        del headers[name]
    if draw(st.integers(0, 3)) == 0:
        body = draw(st.sampled_from(BODIES))
    return headers, body


@given(request=requests(), known=st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3))
def test_a_request_is_accepted_if_and_only_if_the_specification_accepts_it(
    request: tuple[dict[str, str], bytes], known: list[int]
) -> None:
    headers, body = request
    try:
        envelope = assert_webhook_signature(headers=headers, body=body, secret=[SECRETS[n] for n in known], now=NOW)
    except WebhookSignatureError as error:
        [depth] = [depth for depth, words in enumerate(DEPTHS) if words in error.message]
        event(f"refused: {DEPTHS[depth]}")
        assert not is_right(headers, body, [KEYS[n] for n in known])
    else:
        depth = len(DEPTHS)
        event("accepted")
        assert is_right(headers, body, [KEYS[n] for n in known])
        assert envelope == json.loads(body)
    target(float(depth), label="checks that were passed")


@given(st.lists(st.integers(0, 200), min_size=2, max_size=12), st.binary(max_size=200))
def test_no_cut_of_the_signed_text_is_another_request(places: list[int], body: bytes) -> None:
    """The id, the time and the body are joined by dots: no other split of the same text is accepted."""
    text = f"m.{NOW}.".encode() + body
    whole = base64.b64encode(hmac.digest(KEYS[0], text, "sha256")).decode()
    for begin, end in pairwise(sorted({place % (len(text) + 1) for place in places})):
        parts = text[:begin], text[begin:end].strip(b"."), text[end:].removeprefix(b".")
        delivery_id, timestamp = (part.decode("latin-1") for part in parts[:2])
        headers = {"webhook-id": delivery_id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{whole}"}
        try:
            assert_webhook_signature(headers=headers, body=parts[2], secret=SECRETS[0], now=NOW)
        except WebhookSignatureError:
            continue
        assert is_right(headers, parts[2], KEYS[:1])
