import base64
import hmac
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from svc_pg.console.http import tokens
from svc_pg.console.http.tokens import TokenError

KEY = b"0123456789abcdef0123456789abcdef"
HEADER = {"typ": tokens.TYPE, "alg": "HS256"}


def new_token(*, lifetime: timedelta = timedelta(hours=1), key: bytes = KEY) -> str:
    return tokens.issue(
        key, email="ann@corp.example", permissions=["read", "write"], lifetime=lifetime, method="auto_approve"
    )


def verify(token: str) -> tokens.Session:
    return tokens.verify(token, KEY, method="auto_approve")


def claims_of(token: str) -> dict[str, Any]:
    return dict(jwt.decode(token, options={"verify_signature": False}))


def signed(claims: dict[str, Any], *, header: dict[str, Any] = HEADER) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    signature = hmac.digest(KEY, b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


def test_an_issued_token_verifies_to_its_session() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    session = verify(new_token())
    assert session.email == "ann@corp.example"
    assert session.permissions == ("read", "write")
    assert before + timedelta(hours=1) <= session.expires_at <= datetime.now(UTC) + timedelta(hours=1)


def test_a_token_carries_the_claims_of_the_specification_and_of_the_jwt_profile() -> None:
    token = new_token()
    claims = claims_of(token)
    assert set(claims) == {
        "sessionId", "email", "permissions", "expiresAt", "iss", "aud", "sub", "iat", "exp", "jti", "amr"
    }  # fmt: skip
    assert claims["expiresAt"] == claims["exp"] == claims["iat"] + 3600
    assert claims["sub"] == claims["email"]
    header = jwt.get_unverified_header(token)
    assert header == {"alg": "HS256", "typ": "svc-console+jwt", "kid": sha256(KEY).hexdigest()[:16]}


def test_a_token_of_a_given_session_begins_at_the_given_time() -> None:
    session_id, now = uuid4(), datetime(2026, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)
    token = tokens.issue(
        KEY,
        email="ann@corp.example",
        permissions=["read"],
        lifetime=timedelta(hours=1),
        method="magic_link",
        session_id=session_id,
        now=now,
    )
    claims = claims_of(token)
    assert (claims["sessionId"], claims["amr"]) == (str(session_id), ["magic_link"])
    assert claims["iat"] == int(now.timestamp())
    assert claims["exp"] == claims["iat"] + 3600


def test_the_clock_of_who_signed_may_be_a_little_ahead() -> None:
    now = int(datetime.now(UTC).timestamp())
    assert verify(signed(claims_of(new_token()) | {"iat": now + 30})).email == "ann@corp.example"
    with pytest.raises(TokenError, match="future"):
        verify(signed(claims_of(new_token()) | {"iat": now + 90}))


@pytest.mark.parametrize("number", ["1" + "0" * 30, "1e400", "-1e400", "253402300800", "-99999999999999"])
def test_a_time_that_no_calendar_has_is_no_token(number: str) -> None:
    claims = json.dumps(claims_of(new_token()) | {"exp": 7, "expiresAt": 7}).replace(": 7", f": {number}")
    parts = [base64.urlsafe_b64encode(part).rstrip(b"=") for part in (json.dumps(HEADER).encode(), claims.encode())]
    signature = hmac.digest(KEY, b".".join(parts), "sha256")
    with pytest.raises(TokenError):
        verify(b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode())


def test_a_header_that_is_nested_deeper_than_a_parser_goes_is_no_token() -> None:
    _, *rest = new_token().split(".")
    deep = base64.urlsafe_b64encode(b"[" * 30_000).rstrip(b"=").decode()
    with pytest.raises(TokenError):
        verify(".".join([deep, *rest]))


def test_two_tokens_are_two_sessions() -> None:
    assert verify(new_token()).session_id != verify(new_token()).session_id


def test_the_helper_that_signs_by_hand_makes_good_tokens() -> None:
    assert verify(signed(claims_of(new_token()))).email == "ann@corp.example"


def test_a_token_of_another_key_is_refused() -> None:
    with pytest.raises(TokenError, match="Signature"):
        verify(new_token(key=b"f" * 32))


def test_an_expired_token_is_refused() -> None:
    with pytest.raises(TokenError, match="Expired"):
        verify(new_token(lifetime=timedelta(seconds=-1)))


@pytest.mark.parametrize(
    "change",
    [
        {"aud": "somebody-else"},
        {"aud": ["svc-console"]},
        {"iss": "somebody-else"},
        {"expiresAt": 4_000_000_000},
        {"exp": "4000000000", "expiresAt": "4000000000"},
        {"exp": 4_000_000_000.5, "expiresAt": 4_000_000_000.5},
        {"sub": "bob@corp.example"},
        {"iat": 4_000_000_000},
        {"nbf": 4_000_000_000},
        {"amr": ["magic_link"]},
        {"amr": ["auto_approve", "magic_link"]},
        {"amr": "auto_approve"},
        {"permissions": ["root"]},
        {"permissions": "admin"},
        {"sessionId": 7},
    ],
    ids=str,
)
def test_a_signed_token_with_a_wrong_claim_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(TokenError):
        verify(signed(claims_of(new_token()) | change))


@pytest.mark.parametrize(
    "claim", ["exp", "iat", "iss", "aud", "sub", "jti", "amr", "email", "permissions", "sessionId", "expiresAt"]
)
def test_a_signed_token_without_a_claim_is_refused(claim: str) -> None:
    claims = claims_of(new_token())
    del claims[claim]
    with pytest.raises(TokenError):
        verify(signed(claims))


@pytest.mark.parametrize("type_", ["JWT", "SVC-CONSOLE+JWT", None])
def test_a_signed_token_of_another_type_is_refused(type_: str | None) -> None:
    header = {"alg": "HS256"} if type_ is None else {"alg": "HS256", "typ": type_}
    with pytest.raises(TokenError, match="type"):
        verify(signed(claims_of(new_token()), header=header))


def test_alg_none_is_refused() -> None:
    header, payload, _ = signed(claims_of(new_token()), header=HEADER | {"alg": "none"}).split(".")
    for forged in (f"{header}.{payload}.", f"{header}.{payload}.AA"):
        with pytest.raises(TokenError):
            verify(forged)


def test_rs256_is_refused() -> None:
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = jwt.encode(claims_of(new_token()), private_key, algorithm="RS256", headers={"typ": tokens.TYPE})
    with pytest.raises(TokenError, match="InvalidAlgorithm"):
        verify(forged)


def test_a_second_spelling_of_a_token_is_refused() -> None:
    token = new_token()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    neighbour = alphabet[alphabet.index(token[-1]) ^ 1]  # the last character of 32 bytes has two unused bits
    for spelling in (token[:-1] + neighbour, token + "=", token.replace("-", "+") + " ", f" {token}", token + "\n"):
        with pytest.raises(TokenError, match="canonical"):
            verify(spelling)


@pytest.mark.parametrize("text", ["", ".", "..", "a.b", "a.b.c.d", "é.é.é", "\x00", "e30.e30.e30", "W10.e30.AA"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(TokenError):
        verify(text)


def test_the_reason_of_a_refusal_never_contains_the_token() -> None:
    token = new_token(key=b"f" * 32)
    with pytest.raises(TokenError) as refusal:
        verify(token)
    assert not any(part in str(refusal.value) for part in token.split("."))


def test_a_connection_token_is_random_and_its_hash_is_of_it() -> None:
    raw, token_hash = tokens.new_connection_token()
    assert token_hash == "sha256:" + sha256(raw.encode()).hexdigest()
    assert raw != tokens.new_connection_token()[0]


def test_the_reason_for_a_refusal_repeats_nothing_of_the_token() -> None:
    forged = jwt.encode({"sub": "x"}, KEY, headers={"crit": ["x\nINFO session of root"], "x\nINFO session of root": 1})
    with pytest.raises(TokenError) as caught:
        tokens.verify(forged, KEY, method="auto_approve")
    assert "INFO" not in str(caught.value)
