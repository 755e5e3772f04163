"""Others verify our signatures, we verify theirs, and nobody takes a body that was tampered with."""

import json
import time
from collections.abc import Iterator
from subprocess import Popen
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svc_pg.webhooks.signing import sign, verify_webhook_signature
from svc_pg.webhooks.signing.signing_keys import new_secret, new_signing_key, public_key
from tests.support.documents import examples
from tests.support.peers import JavaScriptPeer, Peer, PythonPeer, node, node_run

DELIVERY = "0198f5a2-7c1e-7f00-8000-000000000001"
BODY = '{"type":"order.created","data":{"name":"Zoë"}}'

secrets = st.builds(new_secret)
ids = st.uuids().map(str) | st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
values = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())
bodies = st.builds(json.dumps, st.dictionaries(st.text(), values), ensure_ascii=st.booleans())
each_library = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(scope="module")
def javascript() -> Iterator["Popen[str]"]:
    with node() as process:
        yield process


@pytest.fixture(params=["python standardwebhooks", "python svix", "javascript standardwebhooks", "javascript svix"])
def peer(request: pytest.FixtureRequest) -> Peer:
    language, library = request.param.split()
    if language == "python":
        return PythonPeer(library)
    return JavaScriptPeer(library, request.getfixturevalue("javascript"))


@each_library
@given(secret=secrets, delivery_id=ids, body=bodies)
def test_what_we_sign_they_verify(peer: Peer, secret: str, delivery_id: str, body: str) -> None:
    assert peer.verifies(secret, headers=signed(secret, delivery_id, body), body=body)


@each_library
@given(secret=secrets, delivery_id=ids, body=bodies)
def test_what_they_sign_we_verify(peer: Peer, secret: str, delivery_id: str, body: str) -> None:
    now = int(time.time())
    headers = {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(now),
        "webhook-signature": peer.sign(secret, delivery_id=delivery_id, timestamp=now, body=body),
    }
    assert headers["webhook-signature"] == signed(secret, delivery_id, body, now)["webhook-signature"]
    assert verify_webhook_signature(headers=headers, body=body, secret=secret)


def test_during_a_rotation_the_old_and_the_new_secret_verify_there_too(peer: Peer) -> None:
    old, new = new_secret(), new_secret()
    headers = sign(delivery_id=DELIVERY, timestamp=int(time.time()), body=BODY.encode(), secrets=[new, old])
    assert peer.verifies(old, headers=headers, body=BODY)
    assert peer.verifies(new, headers=headers, body=BODY)
    assert not peer.verifies(new_secret(), headers=headers, body=BODY)


TAMPERED: dict[str, dict[str, Any]] = {
    "body": {"body": BODY.replace("Zoë", "Zoé")},
    "white space of the body": {"body": BODY + " "},
    "id": {"webhook-id": DELIVERY[:-1] + "2"},
    "timestamp": {"webhook-timestamp": lambda value: str(int(value) + 1)},
    "signature": {"webhook-signature": lambda value: value[:3] + ("B" if value[3] == "A" else "A") + value[4:]},
    "version": {"webhook-signature": lambda value: value.replace("v1,", "v2,")},
    "no version": {"webhook-signature": lambda value: value.removeprefix("v1,")},
    "no signature": {"webhook-signature": ""},
}


@pytest.mark.parametrize("what", TAMPERED)
def test_nobody_takes_what_was_tampered_with(peer: Peer, what: str) -> None:
    secret = new_secret()
    headers = {name: value for name, value in signed(secret, DELIVERY, BODY).items() if name.startswith("webhook-")}
    assert is_taken_by_both(peer, secret, headers, BODY)
    body = BODY
    for place, change in TAMPERED[what].items():
        if place == "body":
            body = change
        else:
            headers[place] = change(headers[place]) if callable(change) else change
    assert not peer.verifies(secret, headers=headers, body=body)
    assert not verify_webhook_signature(headers=headers, body=body, secret=secret)


def is_taken_by_both(peer: Peer, secret: str, headers: dict[str, str], body: str) -> bool:
    return peer.verifies(secret, headers=headers, body=body) and verify_webhook_signature(
        headers=headers, body=body, secret=secret
    )


def signed(secret: str, delivery_id: str, body: str, timestamp: int | None = None) -> dict[str, str]:
    at = int(time.time()) if timestamp is None else timestamp
    return sign(delivery_id=delivery_id, timestamp=at, body=body.encode(), secrets=[secret])


DOCUMENTED: Final = """
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
const { publicKey, cases, message } = JSON.parse(readFileSync(0, "utf8"));
%s
const answers = cases.map(({ headers, body }) => isAuthentic(headers, body));
const pair = generateKeyPairSync("ed25519");
const raw_ = Buffer.from(pair.publicKey.export({ format: "jwk" }).x, "base64url").toString("base64");
const signature = sign(null, Buffer.from(message), pair.privateKey).toString("base64");
console.log(JSON.stringify({ answers, publicKey: "whpk_" + raw_, signature: "v1a," + signature }));
"""


def test_the_documented_receiver_in_node_verifies_our_pairs_and_we_verify_those_of_node() -> None:
    pair = new_signing_key()
    [receiver] = examples("receiving.md", "Verify with a public key", "js")
    good = signed(pair, DELIVERY, BODY)
    later = str(int(good["webhook-timestamp"]) + 1)
    cases = [
        {"headers": good, "body": BODY},
        {"headers": good | {"webhook-signature": f"v1,AAAA {good['webhook-signature']}"}, "body": BODY},
        {"headers": good, "body": BODY + " "},
        {"headers": good | {"webhook-timestamp": later}, "body": BODY},
        {"headers": good | {"webhook-signature": "v1a, v1a,AAAA nonsense"}, "body": BODY},
        {"headers": signed(pair, DELIVERY, BODY, int(time.time()) - 400), "body": BODY},
        {"headers": signed(new_secret(), DELIVERY, BODY), "body": BODY},
        {"headers": good | {"webhook-signature": "v1a"}, "body": BODY},
        {"headers": {"webhook-timestamp": good["webhook-timestamp"]}, "body": BODY},
        {"headers": {}, "body": BODY},
    ]
    message = f"{DELIVERY}.{good['webhook-timestamp']}.{BODY}"
    question = {"publicKey": public_key(pair), "cases": cases, "message": message}
    answer = node_run(DOCUMENTED % receiver, question)
    assert answer["answers"] == [True, True, *[False] * 8]
    theirs = good | {"webhook-signature": answer["signature"]}
    assert verify_webhook_signature(headers=theirs, body=BODY, secret=answer["publicKey"])
    assert not verify_webhook_signature(headers=theirs, body=BODY + " ", secret=answer["publicKey"])
