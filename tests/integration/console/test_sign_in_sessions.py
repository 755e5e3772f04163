"""A session of a magic link: its token, its row, and today's configuration must all say yes."""

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import httpx
import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from svc_pg import audit
from svc_pg.console.http import tokens
from tests.integration.console.serving import KEY, assert_problem
from tests.integration.console.signing_in import Mailbox, move, new_address, rows, serving_magic, sign_in

OWN = "/account/session"


def token_of(bearer: dict[str, str]) -> str:
    return bearer["Authorization"].removeprefix("Bearer ")


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def assert_refused(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.get(OWN, headers=headers)
    assert_problem(answer, 401, "invalid_token")
    assert answer.headers["www-authenticate"] == 'Bearer realm="svc", error="invalid_token"'


def store(database: str, token: str) -> None:
    """Give a token a live row, as if it had been claimed: what is refused then is refused for the token alone."""
    with psycopg.connect(database) as conn:
        conn.execute(
            """insert into svc.console_sessions (id, email, permission, token_hash, expires_at)
               values (%s, 'ann@corp.example', 'admin', %s, now() + interval '1 h')""",
            (uuid4(), tokens.token_hash(token)),
        )


def issue(session_id: UUID, *, method: tokens.SignInMethod = "magic_link") -> str:
    return tokens.issue(
        KEY,
        email="ann@corp.example",
        permissions=["read", "write", "admin"],
        lifetime=timedelta(hours=1),
        method=method,
        session_id=session_id,
    )


@pytest.fixture(scope="session")
def bearer(_magic: httpx.Client, mailbox: Mailbox) -> dict[str, str]:
    """A session for the tests that do not end it."""
    return sign_in(_magic, mailbox, new_address())


# The token


def test_a_stored_token_that_we_signed_is_accepted(magic: httpx.Client, console_database: str) -> None:
    token = issue(uuid4())
    store(console_database, token)
    assert magic.get(OWN, headers=bearing(token)).status_code == 200


def test_a_signed_token_without_a_row_is_refused(magic: httpx.Client) -> None:
    assert_refused(magic, bearing(issue(uuid4())))


def test_an_auto_approve_token_is_refused_in_production_even_with_a_row(
    magic: httpx.Client, console_database: str
) -> None:
    token = issue(uuid4(), method="auto_approve")
    store(console_database, token)
    assert_refused(magic, bearing(token))


def signed_by_hand(*, header: dict[str, Any] | None = None, **changes: Any) -> str:
    claims = jwt.decode(issue(uuid4()), options={"verify_signature": False}) | changes
    return jwt.encode(
        {name: value for name, value in claims.items() if value is not None},
        KEY,
        headers={"typ": tokens.TYPE} | (header or {}),
    )


def unsigned() -> str:
    """A token with all claims, and nothing under it."""
    claims = jwt.decode(issue(uuid4()), options={"verify_signature": False})
    return jwt.encode(claims, "", algorithm="none", headers={"typ": tokens.TYPE})


def now() -> int:
    return int(datetime.now(UTC).timestamp())


# made when the test runs: a token does not live long
WRONG: dict[str, Callable[[], str]] = {
    "none": unsigned,
    "typ": lambda: signed_by_hand(header={"typ": "JWT"}),
    "aud": lambda: signed_by_hand(aud="somebody-else"),
    "iss": lambda: signed_by_hand(iss="somebody-else"),
    "no-exp": lambda: signed_by_hand(exp=None),
    "exp": lambda: signed_by_hand(exp=now() + 86400),
    "expiresAt": lambda: signed_by_hand(expiresAt=now() + 86400),
    "past": lambda: signed_by_hand(exp=now() - 10, expiresAt=now() - 10),
    "future": lambda: signed_by_hand(iat=now() + 600),
    "amr": lambda: signed_by_hand(amr=["auto_approve", "magic_link"]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_token_is_refused_even_with_a_row(magic: httpx.Client, console_database: str, wrong: str) -> None:
    token = WRONG[wrong]()
    store(console_database, token)
    assert_refused(magic, bearing(token))


def test_rs256_is_refused_even_with_a_row(magic: httpx.Client, console_database: str) -> None:
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = jwt.decode(issue(uuid4()), options={"verify_signature": False})
    token = jwt.encode(claims, private_key, algorithm="RS256", headers={"typ": tokens.TYPE})
    store(console_database, token)
    assert_refused(magic, bearing(token))


def test_the_helper_that_signs_by_hand_makes_good_tokens(magic: httpx.Client, console_database: str) -> None:
    token = signed_by_hand()
    store(console_database, token)
    assert magic.get(OWN, headers=bearing(token)).status_code == 200


def test_another_spelling_of_a_token_is_refused(
    magic: httpx.Client, bearer: dict[str, str], console_database: str
) -> None:
    token = token_of(bearer)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    tail = token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]
    assert base64.urlsafe_b64decode(tail.split(".")[2] + "=") == base64.urlsafe_b64decode(token.split(".")[2] + "=")
    for spelling in (tail, token + "=", token + "."):
        store(console_database, spelling)
        assert_refused(magic, bearing(spelling))
    assert magic.get(OWN, headers=bearer).status_code == 200


def test_a_token_anywhere_but_in_one_bearer_header_is_no_credential(
    magic: httpx.Client, bearer: dict[str, str]
) -> None:
    token = token_of(bearer)
    basic = base64.b64encode(f"ann:{token}".encode()).decode()
    for answer in (
        magic.get(OWN),
        magic.get(OWN, headers={"Authorization": f"Basic {basic}"}),
        magic.get(OWN, params={"access_token": token, "sessionToken": token}),
        magic.get(OWN, headers={"Cookie": f"session={token}; __Secure-svc_console={token}"}),
    ):
        assert_problem(answer, 401, "not_authenticated")
        assert answer.headers["www-authenticate"] == 'Bearer realm="svc"'
    twice = [("Authorization", bearer["Authorization"])] * 2
    assert_problem(magic.get(OWN, headers=twice), 401, "invalid_token")


def test_the_token_of_a_session_carries_its_id_and_ends_when_its_row_does(
    bearer: dict[str, str], console_database: str
) -> None:
    claims = jwt.decode(token_of(bearer), options={"verify_signature": False})
    [(email, permission, expires_at, token_hash)] = rows(
        console_database,
        "select email, permission, expires_at, token_hash from svc.console_sessions where id = %s",
        claims["sessionId"],
    )
    assert claims["email"] == claims["sub"] == email
    assert (claims["permissions"], permission) == (["read", "write"], "write")
    assert claims["expiresAt"] == claims["exp"] == expires_at.timestamp()
    assert claims["amr"] == ["magic_link"]
    assert token_hash == sha256(token_of(bearer).encode()).digest()


# The row, on the very next call


def test_a_session_that_logged_out_is_over(magic: httpx.Client, mailbox: Mailbox) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    answer = magic.delete(OWN, headers=bearer)
    assert (answer.status_code, answer.content) == (204, b"")
    assert_refused(magic, bearer)
    assert magic.delete(OWN, headers=bearer).status_code == 401


def test_a_session_whose_time_is_over_is_over(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    email = new_address()
    bearer = sign_in(magic, mailbox, email)
    assert magic.get(OWN, headers=bearer).status_code == 200
    move(console_database, "update svc.console_sessions set expires_at = now() where email = %s", email)
    assert_refused(magic, bearer)


def test_a_session_that_an_administrator_revoked_is_over(magic: httpx.Client, mailbox: Mailbox) -> None:
    bearer, admin = sign_in(magic, mailbox, new_address()), sign_in(magic, mailbox, new_address("admin.example"))
    session_id = magic.get(OWN, headers=bearer).json()["sessionId"]
    assert magic.delete(f"/account/sessions/{session_id}", headers=admin).status_code == 204
    assert_refused(magic, bearer)
    assert magic.get(OWN, headers=admin).status_code == 200


def test_a_revoke_in_sql_is_as_good(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    session_id = magic.get(OWN, headers=bearer).json()["sessionId"]
    with psycopg.connect(console_database) as conn:
        conn.execute("select svc.console_revoke(%s)", (session_id,))
    assert_refused(magic, bearer)


# Today's configuration


def test_another_hash_ends_all_sessions(magic: httpx.Client, console_database: str, mailbox: Mailbox) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    other_hash = "sha256:" + sha256(b"another").hexdigest()
    with serving_magic(console_database, mailbox, console_connection_token_hash=other_hash) as client:
        assert_refused(client, bearer)
    assert magic.get(OWN, headers=bearer).status_code == 200


def test_a_permission_that_was_lowered_holds_at_once_and_one_that_was_raised_after_the_next_sign_in(
    magic: httpx.Client, console_database: str, mailbox: Mailbox
) -> None:
    email = new_address()
    bearer = sign_in(magic, mailbox, email)
    for today, permissions in (("read", ["read"]), ("admin", ["read", "write"])):
        with serving_magic(console_database, mailbox, console_allowed_emails={email: today}) as client:
            assert client.get(OWN, headers=bearer).json()["permissions"] == permissions
            created = client.post("/shop/orders", json={}, headers=bearer)
            assert created.status_code == (200 if "write" in permissions else 403)
            assert client.delete("/shop/orders", headers=bearer).status_code == 403


def test_an_address_that_may_not_sign_in_any_more_has_no_session(
    magic: httpx.Client, console_database: str, mailbox: Mailbox
) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    with serving_magic(console_database, mailbox, console_allowed_emails={"bob@corp.example": "admin"}) as client:
        assert_refused(client, bearer)


def test_a_session_lasts_as_long_as_is_configured(console_database: str, mailbox: Mailbox) -> None:
    with serving_magic(console_database, mailbox, console_token_lifetime="90") as client:
        bearer = sign_in(client, mailbox, new_address())
        expires_at = datetime.fromisoformat(client.get(OWN, headers=bearer).json()["expiresAt"])
    assert timedelta(seconds=60) < expires_at - datetime.now(UTC) <= timedelta(seconds=90)


# The product account


def test_administrators_list_and_page_through_sessions_and_others_do_not(magic: httpx.Client, mailbox: Mailbox) -> None:
    emails = [new_address() for _ in range(3)]
    bearers = [sign_in(magic, mailbox, email) for email in emails]
    magic.delete(OWN, headers=bearers[0])
    administrator = new_address("admin.example")
    admin = sign_in(magic, mailbox, administrator)
    for method, path in (("GET", "/account/sessions"), ("DELETE", f"/account/sessions/{uuid4()}")):
        refused = magic.request(method, path, headers=bearers[1])
        assert_problem(refused, 403, "insufficient_scope")
        assert refused.json()["requiredPermission"] == "admin"
    first = magic.get("/account/sessions", params={"limit": 2}, headers=admin).json()
    second = magic.get("/account/sessions", params={"limit": 2, "cursor": first["nextCursor"]}, headers=admin).json()
    back = magic.get("/account/sessions", params={"limit": 2, "before": second["prevCursor"]}, headers=admin).json()
    assert back == first
    listed = [*first["data"], *second["data"]]
    assert [session["email"] for session in listed] == [administrator, *reversed(emails)]
    assert set(listed[0]) == {
        "sessionId", "email", "permission", "ip", "userAgent", "createdAt", "expiresAt", "revokedAt", "revokedBy",
        "lastUsedAt",
        "tenant",
    }  # fmt: skip
    ended = magic.get("/account/sessions", params={"state": "ended", "limit": 1}, headers=admin).json()["data"]
    assert (ended[0]["email"], ended[0]["revokedBy"]) == (emails[0], emails[0])
    live = magic.get("/account/sessions", params={"state": "live", "limit": 3}, headers=admin).json()["data"]
    assert [session["email"] for session in live] == [administrator, emails[2], emails[1]]
    assert_problem(magic.get("/account/sessions?state=dead", headers=admin), 422, "invalid_parameter")


def test_an_unknown_session_cannot_be_revoked_and_an_ended_one_stays_as_it_is(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    admin = sign_in(magic, mailbox, new_address("admin.example"))
    for session_id in (uuid4(), "7", "x'"):
        assert_problem(magic.delete(f"/account/sessions/{session_id}", headers=admin), 404, "unknown_session")
    bearer = sign_in(magic, mailbox, new_address())
    session_id = magic.get(OWN, headers=bearer).json()["sessionId"]
    magic.delete(OWN, headers=bearer)
    ended = "select revoked_at, revoked_by from svc.console_sessions where id = %s"
    before = rows(console_database, ended, session_id)
    assert magic.delete(f"/account/sessions/{session_id}", headers=admin).status_code == 204
    assert rows(console_database, ended, session_id) == before


def test_signing_in_and_out_is_in_the_audit_log_with_who_did_it_and_without_the_token(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    bearer = sign_in(magic, mailbox, email)
    session_id = magic.get(OWN, headers=bearer).json()["sessionId"]
    administrator = new_address("admin.example")
    admin = sign_in(magic, mailbox, administrator)
    magic.delete(f"/account/sessions/{session_id}", headers=admin)
    with psycopg.connect(console_database) as conn:
        entries = audit.query().resource("svc.console_sessions").record(session_id).list(conn).data
    revoked, made = entries
    assert (made.operation, made.actor_id) == ("INSERT", email)
    assert (revoked.operation, revoked.actor_id) == ("UPDATE", administrator)
    assert made.context is not None
    assert set(made.context) == {"session_id", "request_id", "ip"}
    assert sorted(revoked.changed_fields or ()) == ["revoked_at", "revoked_by"]
    for entry in entries:
        assert entry.after_data is not None
        assert "token_hash" not in entry.after_data.value
    assert sha256(token_of(bearer).encode()).hexdigest() not in str(entries)


def test_an_auto_approved_session_cannot_be_ended(console_database: str, mailbox: Mailbox) -> None:
    with serving_magic(
        console_database, mailbox, env="development", console_auto_approve=True, console_trusted_proxies=[]
    ) as client:
        assert client.get("/console/capabilities").json()["authMethods"] == ["auto_approve"]
        token = client.post("/console/session/init", json={}).json()["sessionToken"]
        assert client.get(OWN, headers=bearing(token)).json()["email"] == "dev@localhost"
        assert_problem(client.delete(OWN, headers=bearing(token)), 409, "session_not_stored")


def test_a_magic_link_token_is_refused_where_auto_approve_runs(
    bearer: dict[str, str], console_database: str, mailbox: Mailbox
) -> None:
    with serving_magic(console_database, mailbox, env="development", console_auto_approve=True) as client:
        assert_refused(client, bearer)
