"""Finding the actor of a request."""

import base64
import json
import logging
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit import Actor
from svc_pg.errors import ConfigError
from svc_pg.integrations.extractors import (
    Extractor,
    Request,
    environ_headers,
    from_bearer,
    from_cookie,
    from_header,
    request_context,
    to_actor,
)
from tests.integration.actor.tokens import SECRET, bearer, expired

PRIVATE_KEY = Ed25519PrivateKey.generate()
PUBLIC_PEM = (
    PRIVATE_KEY.public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    .decode()
)


def found(extractor: Extractor, headers: dict[str, str]) -> object:
    return extractor(Request(headers, {}))


def unsigned(payload: bytes, header: bytes = b'{"alg":"none","typ":"JWT"}') -> dict[str, str]:
    parts = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (header, payload, b""))
    return {"authorization": f"Bearer {'.'.join(parts)}"}


def test_a_good_token_is_its_subject() -> None:
    assert found(from_bearer(verify=SECRET), bearer("alice")) == "alice"
    assert found(from_bearer(verify=SECRET.encode()), bearer("alice", aud="shop")) == "alice"


@pytest.mark.parametrize(
    "verify", [PUBLIC_PEM, PUBLIC_PEM.encode(), PRIVATE_KEY.public_key(), lambda _token: PUBLIC_PEM]
)
def test_a_public_key_verifies_however_it_is_given(verify: Any) -> None:
    extractor = from_bearer(verify=verify)
    assert found(extractor, bearer("alice", key=PRIVATE_KEY, algorithm="EdDSA")) == "alice"
    assert found(extractor, bearer("alice")) is None


def test_a_client_of_a_key_set_finds_the_key() -> None:
    class Keys:
        def get_signing_key_from_jwt(self, token: str) -> jwt.PyJWK:
            assert jwt.get_unverified_header(token)["kid"] == "k1"
            return jwt.PyJWK({"kty": "oct", "k": base64.urlsafe_b64encode(SECRET.encode()).decode(), "alg": "HS256"})

    token = jwt.encode({"sub": "alice"}, SECRET, headers={"kid": "k1"})
    headers = {"authorization": f"bearer {token}"}
    assert found(from_bearer(verify=Keys(), algorithms=["HS256"]), headers) == "alice"
    assert found(from_bearer(verify=Keys()), headers) is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer x.y.z"},
        {"authorization": "Basic YWxpY2U6"},
        {"authorization": bearer()["authorization"].replace("Bearer", "Token")},
        expired(),
        bearer(key="another secret, which is long enough for an HMAC key"),
        bearer(subject=7),
        bearer(subject=None),
        unsigned(b'{"sub":"alice"}'),
        unsigned(b"[" * 20_000),
        unsigned(b"{}", header=b"[" * 20_000),
    ],
    ids=lambda headers: headers.get("authorization", "none")[:12],
)
def test_a_bad_token_is_nobody(headers: dict[str, str]) -> None:
    assert found(from_bearer(verify=SECRET), headers) is None


@given(st.text())
def test_no_header_raises(value: str) -> None:
    for extractor in (from_bearer(verify=SECRET), from_bearer(unverified=True), from_cookie("user")):
        assert found(extractor, {"authorization": f"Bearer {value}", "cookie": value}) is None or value


def test_a_key_that_cannot_be_fetched_is_nobody_and_no_log_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    def fetch(token: str) -> str:
        raise OSError(f"no key for {token}")

    headers = bearer()
    with caplog.at_level(logging.DEBUG):
        assert found(from_bearer(verify=fetch), headers) is None
    assert "OSError" in caplog.text
    assert headers["authorization"].removeprefix("Bearer ") not in caplog.text


def test_an_audience_is_checked_where_it_is_given() -> None:
    extractor = from_bearer(verify=SECRET, audience="shop")
    assert found(extractor, bearer(aud=["shop", "blog"])) == "alice"
    assert found(extractor, bearer(aud="blog")) is None
    assert found(extractor, bearer()) is None


def test_a_token_is_read_unverified_only_where_that_is_said() -> None:
    assert found(from_bearer(unverified=True), bearer(key="somebody else's secret, of a sufficient length")) == "alice"
    with pytest.raises(ConfigError, match="either a key or unverified=True"):
        from_bearer()
    with pytest.raises(ConfigError, match="either a key or unverified=True"):
        from_bearer(verify=SECRET, unverified=True)


def test_headers_and_cookies_are_found_by_name() -> None:
    assert found(from_header("X-User"), {"x-user": "alice"}) == "alice"
    assert found(from_header("X-User"), {}) is None
    assert found(from_cookie("user"), {"cookie": 'a=b; user="alice"; c=d'}) == "alice"
    assert found(from_cookie("user"), {}) is None


@pytest.mark.parametrize(
    "other", ['consent={"ads":false}', "cart[id]=7", "b\xe9b\xe9=1", "a b=1", "user", "=", "expires=1"]
)
def test_cookies_of_others_hide_none(other: str) -> None:
    for header in (f"{other}; user=alice", f"user=alice; {other}", f"user=bob;{other}; user=alice"):
        assert found(from_cookie("user"), {"cookie": header}) == "alice"


@pytest.mark.parametrize("actor_id", ["a\0b", "x" * 513, "\ud800"])
def test_an_id_that_cannot_be_stored_is_nobody_and_is_not_logged(
    actor_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert to_actor(actor_id, None) is None
    assert f"of {len(actor_id)} characters is refused" in caplog.text
    assert actor_id not in caplog.text


def test_what_an_extractor_finds_becomes_an_actor() -> None:
    assert to_actor("alice", {"ip": "::1"}) == Actor("alice", context={"ip": "::1"})
    assert to_actor(Actor("alice", "acme", {"ip": "mine"}), {"ip": "::1", "request_id": "r"}) == Actor(
        "alice", "acme", {"ip": "mine", "request_id": "r"}
    )
    assert to_actor("", None) is None
    assert to_actor(None, {"ip": "::1"}) is None
    assert to_actor(0, None) == Actor("0")
    with pytest.raises(TypeError, match="not float"):
        to_actor(7.5, None)  # type: ignore[arg-type] # what the test is about


def test_a_request_id_from_outside_is_short_and_plain() -> None:
    assert request_context({"x-request-id": "r-81"}, "::1") == {"request_id": "r-81", "ip": "::1"}
    for hostile in ("", "x" * 129, "a b", "a\n", "é"):
        made = request_context({"x-request-id": hostile}, None)
        assert set(made) == {"request_id"}
        assert made["request_id"] != hostile
        json.dumps(made)


def test_headers_of_an_environ_have_their_usual_names() -> None:
    assert environ_headers({"HTTP_X_USER": "alice", "PATH_INFO": "/", "CONTENT_TYPE": "x"}) == {"x-user": "alice"}
