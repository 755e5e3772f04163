import httpx
import pytest

from svc_pg.console.sign_in import codes
from tests.integration.console.serving import assert_problem
from tests.integration.console.signing_in import (
    ANY_CODE,
    Device,
    Mailbox,
    magic_settings,
    move,
    new_address,
    rows,
    serving_magic,
    sign_in,
    wrong,
)

# The way in


def test_somebody_signs_in_with_a_mailed_code_and_may_do_what_the_configuration_says(
    magic: httpx.Client, mailbox: Mailbox
) -> None:
    email = new_address()
    device = Device(magic, email)
    assert device.begun.status_code == 200
    begun = device.begun.json()
    assert set(begun) == {"method", "sessionId", "deviceToken", "expiresIn", "interval"}
    assert (begun["method"], begun["expiresIn"], begun["interval"]) == ("magic_link", 600, 2)
    assert device.poll().json() == {"status": "pending", "interval": 2, "expiresIn": 600}
    verified = device.verify(mailbox.code(email))
    assert (verified.status_code, verified.json()) == (200, {"status": "verified", "claimExpiresIn": 120})
    claimed = device.claim()
    assert claimed.status_code == 200
    document = claimed.json()
    assert set(document) == {"status", "sessionToken", "tokenType", "expiresIn", "knownDevice"}
    assert (document["status"], document["tokenType"], document["expiresIn"]) == ("claimed", "Bearer", 86400)
    bearer = {"Authorization": f"Bearer {document['sessionToken']}"}
    session = magic.get("/account/session", headers=bearer).json()
    assert (session["sessionId"], session["email"]) == (device.session_id, email)
    assert session["permissions"] == ["read", "write"]


def test_an_exact_address_beats_the_pattern_of_its_domain(magic: httpx.Client, mailbox: Mailbox) -> None:
    bearer = sign_in(magic, mailbox, "ann@corp.example")
    assert magic.get("/account/session", headers=bearer).json()["permissions"] == ["read", "write", "admin"]


def test_an_address_is_the_same_in_capitals(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address("read.example")
    device = Device(magic, email.replace("person", "PERSON").replace("read.example", "Read.Example"))
    assert device.verify(mailbox.code(email)).status_code == 200


def test_capabilities_name_the_one_way_to_sign_in(magic: httpx.Client) -> None:
    assert magic.get("/console/capabilities").json()["authMethods"] == ["magic_link"]


def test_poll_tells_every_state_and_how_long_it_lasts(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)

    def polled() -> dict[str, object]:
        move(console_database, "update svc.console_magic_links set polled_at = null where email = %s", email)
        return dict(device.poll().json())

    assert polled() == {"status": "pending", "interval": 2, "expiresIn": 600}
    device.verify(mailbox.code(email))
    assert polled() == {"status": "verified", "interval": 2, "expiresIn": 120}
    device.claim()
    assert polled() == {"status": "claimed", "interval": 2, "expiresIn": 0}
    other = Device(magic, new_address())
    for _ in range(5):
        other.verify(ANY_CODE)
    assert other.poll().json() == {"status": "locked", "interval": 2, "expiresIn": 0}


def test_every_step_of_a_sign_in_is_an_event(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    email = new_address()
    device = Device(magic, email, ip="203.0.113.9", **{"User-Agent": "Test/1"})
    code = mailbox.code(email)
    device.verify(wrong(code))
    device.verify(code)
    device.claim()
    found = rows(
        console_database,
        "select event, session_id::text, host(ip), user_agent from svc.console_events where email = %s order by id",
        email,
    )
    assert [event for event, *_ in found] == ["link_requested", "code_rejected", "code_accepted", "signed_in"]
    assert {row[1:] for row in found} == {(device.session_id, "203.0.113.9", "Test/1")}


# Bound to the device that asked


@pytest.mark.parametrize("token", [None, "x" * 43, "Bearer", "Basic", "twice"])
def test_verify_poll_and_claim_with_a_wrong_or_no_device_token_are_404_and_count_nothing(
    magic: httpx.Client, mailbox: Mailbox, console_database: str, token: str | None
) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    other = Device(magic, new_address())
    good = device.bearer["Authorization"]
    stolen: list[tuple[str, str]] = {
        None: [],
        "Bearer": [("Authorization", "Bearer")],
        "Basic": [("Authorization", good.replace("Bearer", "Basic"))],
        "twice": [("Authorization", good), ("Authorization", good)],
    }.get(token, [("Authorization", f"Bearer {token}")])
    for headers in (stolen, list(other.bearer.items())):
        body = {"sessionId": device.session_id, "code": code}
        for answer in (
            magic.post("/console/session/verify", json=body, headers=headers),
            magic.get("/console/session/poll", params={"sessionId": device.session_id}, headers=headers),
            magic.post("/console/session/claim", json={"sessionId": device.session_id}, headers=headers),
        ):
            assert_problem(answer, 404, "unknown_session")
    stored = rows(
        console_database, "select status, failed_attempts from svc.console_magic_links where email = %s", email
    )
    assert stored == [("pending", 0)]
    assert device.verify(code).status_code == 200


UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("session_id", [UNKNOWN, "", "7", "x" * 36, "00000000-0000-0000-0000-000000000000'"])
def test_an_unknown_session_is_404(magic: httpx.Client, session_id: str) -> None:
    device = Device(magic, new_address())
    device.session_id = session_id
    for answer in (device.verify(ANY_CODE), device.poll(), device.claim()):
        assert_problem(answer, 404, "unknown_session")


def test_get_verifies_nothing(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    email = new_address()
    device = Device(magic, email)
    parameters = {"sessionId": device.session_id, "code": mailbox.code(email)}
    for method in ("GET", "HEAD"):
        answer = magic.request(method, "/console/session/verify", params=parameters, headers=device.bearer)
        assert answer.status_code == 404
    assert rows(console_database, "select status from svc.console_magic_links where email = %s", email) == [
        ("pending",)
    ]


# Codes


@pytest.mark.parametrize(
    "spelling",
    [
        lambda code: code.lower(),
        lambda code: f" {code[:3]} {code[3:]}\n",
        lambda code: f"{code[:3]}-{code[3:]}",
        lambda code: "-".join(code.swapcase()),
        lambda code: f"{code[:2]}\u00a0{code[2:]}",
    ],
    ids=["lower", "spaces", "hyphen", "hyphens", "no-break space"],
)
def test_case_spaces_and_hyphens_do_not_matter(magic: httpx.Client, mailbox: Mailbox, spelling: object) -> None:
    assert callable(spelling)
    email = new_address()
    device = Device(magic, email)
    assert device.verify(spelling(mailbox.code(email))).status_code == 200


@pytest.mark.parametrize(
    "text", ["", "ABCDE", "ABCDEFG", "ABCDE0", "ABCDE1", "ABCDEI", "ABCDEO", "ABCDE_", "ABCDE\u017f"]
)
def test_what_no_code_looks_like_is_422_and_no_attempt(magic: httpx.Client, console_database: str, text: str) -> None:
    device = Device(magic, new_address())
    assert_problem(device.verify(text), 422, "malformed_code")
    [attempts] = rows(
        console_database, "select failed_attempts from svc.console_magic_links where email = %s", device.email
    )
    assert attempts == (0,)


@pytest.mark.parametrize(
    "body", [None, [], {}, {"sessionId": "x"}, {"sessionId": 7, "code": "ABCDEF"}, {"sessionId": "x", "code": None}]
)
def test_a_verify_that_is_no_object_of_two_texts_is_422(magic: httpx.Client, body: object) -> None:
    answer = magic.post("/console/session/verify", json=body)
    assert_problem(answer, 422, "invalid_body")


def test_a_code_that_was_accepted_is_409_again(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    device.verify(code)
    for text in (code, wrong(code)):
        assert_problem(device.verify(text), 409, "already_verified")


def test_the_code_of_another_session_is_wrong(magic: httpx.Client, mailbox: Mailbox) -> None:
    mine, yours = new_address(), new_address()
    first, second = Device(magic, mine), Device(magic, yours)
    answer = first.verify(mailbox.code(yours))
    assert_problem(answer, 400, "invalid_code")
    assert answer.json()["attemptsRemaining"] == 4
    assert second.verify(mailbox.code(yours)).status_code == 200


def test_the_right_code_after_the_lock_is_423(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    for left in (4, 3, 2, 1, 0):
        answer = device.verify(wrong(code))
        assert_problem(answer, 400, "invalid_code")
        assert answer.json()["attemptsRemaining"] == left
    assert_problem(device.verify(code), 423, "locked")
    assert_problem(device.claim(), 423, "locked")


def test_the_number_of_attempts_is_configured(console_database: str, mailbox: Mailbox) -> None:
    with serving_magic(console_database, mailbox, console_max_attempts=1) as client:
        device = Device(client, new_address())
        assert device.verify(ANY_CODE).json()["attemptsRemaining"] == 0
        assert_problem(device.verify(ANY_CODE), 423, "locked")


# Time


def test_a_code_is_expired_after_ten_minutes(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    later = """
        update svc.console_magic_links
           set created_at = created_at - %s::interval, expires_at = expires_at - %s::interval where email = %s
    """
    move(console_database, later, "9 min 50 s", "9 min 50 s", email)
    assert_problem(device.verify(wrong(code)), 400, "invalid_code")
    move(console_database, later, "11 s", "11 s", email)
    assert_problem(device.verify(code), 410, "expired")
    assert_problem(device.claim(), 410, "expired")
    assert device.poll().json() == {"status": "expired", "interval": 2, "expiresIn": 0}


def test_a_claim_121_seconds_after_verify_is_410(magic: httpx.Client, mailbox: Mailbox, console_database: str) -> None:
    email = new_address()
    device = Device(magic, email)
    device.verify(mailbox.code(email))
    later = """
        update svc.console_magic_links
           set verified_at = verified_at - %s::interval, expires_at = expires_at - %s::interval where email = %s
    """
    move(console_database, later, "121 s", "121 s", email)
    assert_problem(device.claim(), 410, "expired")
    assert device.poll().json()["status"] == "expired"


def test_a_code_of_the_last_minute_leaves_two_minutes_to_claim(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    email = new_address()
    device = Device(magic, email)
    code = mailbox.code(email)
    move(
        console_database,
        "update svc.console_magic_links set expires_at = now() + interval '30 s' where email = %s",
        email,
    )
    device.verify(code)
    assert device.poll().json()["expiresIn"] == 120


def test_a_claim_before_verify_is_409(magic: httpx.Client, mailbox: Mailbox) -> None:
    email = new_address()
    device = Device(magic, email)
    assert_problem(device.claim(), 409, "not_verified")
    device.verify(mailbox.code(email))
    assert device.claim().status_code == 200


def claimed(magic: httpx.Client, mailbox: Mailbox) -> tuple[Device, dict[str, str]]:
    """A device that has claimed its session, and the header that carries that."""
    email = new_address()
    device = Device(magic, email)
    device.verify(mailbox.code(email))
    return device, {"Authorization": f"Bearer {device.claim().json()['sessionToken']}"}


def test_a_device_whose_claim_was_not_answered_claims_again_and_gets_the_same_token(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    device, session = claimed(magic, mailbox)
    again = device.claim()
    assert again.status_code == 200
    assert f"Bearer {again.json()['sessionToken']}" == session["Authorization"]
    assert 86_000 < again.json()["expiresIn"] <= 86_400
    assert magic.get("/account/session", headers=session).status_code == 200
    events = "select count(*) from svc.console_events where event = 'signed_in' and session_id = %s"
    assert rows(console_database, events, device.session_id) == [(1,)]


def test_another_device_claims_nothing_again(magic: httpx.Client, mailbox: Mailbox) -> None:
    device, _session = claimed(magic, mailbox)
    other = Device(magic, new_address())
    other.session_id = device.session_id
    assert_problem(other.claim(), 404, "unknown_session")


def test_a_claim_more_than_two_minutes_after_the_first_is_409(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    device, _session = claimed(magic, mailbox)
    earlier = "update svc.console_magic_links set claimed_at = claimed_at - interval '121 s' where session_id = %s"
    move(console_database, earlier, device.session_id)
    assert_problem(device.claim(), 409, "already_claimed")


def test_a_session_that_has_ended_is_not_claimed_again(magic: httpx.Client, mailbox: Mailbox) -> None:
    device, session = claimed(magic, mailbox)
    assert magic.delete("/account/session", headers=session).status_code == 204
    assert_problem(device.claim(), 409, "already_claimed")


def test_polling_faster_than_the_interval_is_slow_down_and_the_state_still_arrives(
    magic: httpx.Client, console_database: str
) -> None:
    device = Device(magic, new_address())
    assert device.poll().status_code == 200
    for _ in range(3):
        answer = device.poll()
        assert_problem(answer, 429, "slow_down")
        assert (answer.headers["retry-after"], answer.json()["retryAfter"]) == ("2", 2)
    move(
        console_database,
        "update svc.console_magic_links set polled_at = polled_at - interval '2 s' where email = %s",
        device.email,
    )
    assert device.poll().status_code == 200


@pytest.mark.parametrize("query", ["", "sessionId=a&sessionId=b"])
def test_a_poll_names_one_session(magic: httpx.Client, query: str) -> None:
    answer = magic.get(f"/console/session/poll?{query}")
    assert_problem(answer, 422, "invalid_parameter")
    assert answer.json()["parameter"] == "sessionId"


def test_an_address_that_was_taken_away_after_verify_claims_nothing(
    console_database: str, magic: httpx.Client, mailbox: Mailbox
) -> None:
    email = new_address()
    device = Device(magic, email)
    device.verify(mailbox.code(email))
    with serving_magic(console_database, mailbox, console_allowed_emails={"bob@corp.example": "read"}) as client:
        device.client = client
        assert_problem(device.claim(), 404, "unknown_session")


def test_the_settings_of_these_tests_are_those_of_production(console_database: str) -> None:
    assert magic_settings(console_database).env == "production"
    assert len(codes.ALPHABET) == len(set(codes.ALPHABET)) == 32
