"""The options of an endpoint: filter, order, rate, signatures and TLS, as they are set, kept and taken back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.database.query import fetch_one, scalar
from svc_pg.errors import EncryptionKeyError, EndpointError
from svc_pg.webhooks.endpoints import endpoint_health
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint, EndpointWithSecret
from svc_pg.webhooks.endpoints.reencryption import reencrypt
from svc_pg.webhooks.http.guard import Guard
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.secrets import SIGNING_KEY_COLUMN, TLS_COLUMN, KeyRing, new_key
from svc_pg.webhooks.signing.signing_keys import public_key
from tests.support.certificates import authority
from tests.support.hooks import KEYS, KEYS_TEXT, hooks_config, install, working
from tests.support.postgres import Prepare
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")
GUARD = Guard.of(CONFIG.webhooks)
PAID = '$.amount > 100 && $.currency == "EUR"'


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    ours = authority(tmp_path)
    return Tls(ours.pem, *ours.client())


def new(db: psycopg.Connection[Any], **options: Any) -> EndpointWithSecret:
    wanted: dict[str, Any] = {"url": "https://example.com/hook", "events": ["*"]} | options
    return fetch_one(db, endpoints.create(keys=KEYS, guard=GUARD, **wanted))


def update(db: psycopg.Connection[Any], endpoint: Endpoint, **changes: Any) -> Endpoint:
    return fetch_one(db, endpoints.update(endpoint.id, keys=KEYS, guard=GUARD, **changes))


def column(db: psycopg.Connection[Any], name: str) -> Any:
    return scalar(db, "select to_jsonb(e) ->> %s from svc.webhook_endpoints e", (name,))


def test_every_option_is_kept_by_other_changes_and_those_that_may_be_null_are_taken_back(
    db: psycopg.Connection[Any], tls: Tls
) -> None:
    plain = new(db)
    assert (plain.filter, plain.ordering, plain.rate_per_second, plain.signatures) == (None, "none", None, ["v1"])
    assert (plain.public_key, plain.has_tls, plain.client_certificate_expires_at) == (None, False, None)
    fetch_one(db, endpoints.delete(plain.id))

    made = new(db, filter=PAID, ordering="key", rate_per_second=50, signatures=["v1a", "v1"], tls=tls)
    same = update(db, made, description="new", timeout=timedelta(seconds=3))
    for endpoint in (made, same):
        assert (endpoint.filter, endpoint.ordering, endpoint.rate_per_second) == (PAID, "key", 50)
        assert (endpoint.signatures, endpoint.public_key, endpoint.has_tls) == (["v1", "v1a"], made.public_key, True)
        assert endpoint.client_certificate_expires_at is not None
    gone = update(db, made, filter=None, rate_per_second=None, tls=None, ordering="strict", signatures=["v1"])
    assert (gone.filter, gone.rate_per_second, gone.has_tls, gone.ordering) == (None, None, False, "strict")
    assert (gone.signatures, gone.public_key, gone.client_certificate_expires_at) == (["v1"], None, None)


def test_an_active_endpoint_whose_certificate_ends_within_a_month_needs_attention(
    db: psycopg.Connection[Any], tls: Tls
) -> None:
    made = new(db, tls=tls)
    for status, days, expected in (
        ("active", 31, False),
        ("active", 29, True),
        ("active", -1, True),
        ("active", None, False),
        ("paused", 29, False),
    ):
        db.execute(
            "update svc.webhook_endpoints"
            "   set status = %s, client_certificate_expires_at = now() + %s * interval '1 day'",
            (status, days),
        )
        [health] = endpoint_health.query().list(db).data
        assert (health.endpoint_id, health.needs_attention) == (made.id, expected)


def test_two_who_change_different_fields_at_once_both_succeed(db: psycopg.Connection[Any], database: str) -> None:
    endpoint = new(db)
    with psycopg.connect(database) as first, ThreadPoolExecutor(1) as pool:
        update(first, endpoint, description="first", signatures=["v1", "v1a"])
        second = pool.submit(update, db, endpoint, filter=PAID, url="https://example.com/second")
        wait_until(lambda: waits_for(database, db), "the second waits for the first")
        first.commit()
        changed = second.result()
    assert (changed.description, changed.filter, changed.url) == ("first", PAID, "https://example.com/second")
    assert (changed.signatures, changed.public_key is None) == (["v1", "v1a"], False)
    assert column(db, "version") == "3"


def waits_for(database: str, conn: psycopg.Connection[Any]) -> bool:
    """True if the connection waits for a lock."""
    with psycopg.connect(database) as other:
        return bool(scalar(other, "select cardinality(pg_blocking_pids(%s)) > 0", (conn.info.backend_pid,)))


def test_key_material_is_sealed_in_its_column_and_never_in_the_log(db: psycopg.Connection[Any], tls: Tls) -> None:
    made = new(db, signatures=["v1a"], tls=tls)
    fetch_one(db, endpoints.rotate_secret(made.id, keys=KEYS))
    sealed = db.execute("select signing_key, previous_signing_key, tls from svc.webhook_endpoints").fetchone()
    assert sealed is not None
    opened = [KEYS.open(each, owner=made.id, column=SIGNING_KEY_COLUMN) for each in sealed[:2]]
    assert public_key(opened[1]) == made.public_key
    assert Tls.from_json(KEYS.open(sealed[2], owner=made.id, column=TLS_COLUMN)) == tls
    logged = str(scalar(db, "select json_agg(l) from svc.audit_logs l"))
    assert made.public_key is not None
    assert made.public_key in logged
    assert not {name for name in ("signing_key", "previous_signing_key", "tls") if f"'{name}': '" in logged}
    assert not any(bytes(each).hex() in logged for each in sealed)


def test_a_key_pair_stays_until_v1a_is_switched_off_and_on_again(db: psycopg.Connection[Any]) -> None:
    endpoint = new(db)
    first = update(db, endpoint, signatures=["v1", "v1a"]).public_key
    assert first is not None
    assert update(db, endpoint, signatures=["v1a"], url="https://other.example").public_key == first
    assert update(db, endpoint, signatures=["v1"]).public_key is None
    assert column(db, "signing_key") is None
    assert update(db, endpoint, signatures=["v1a"]).public_key not in (None, first)
    with pytest.raises(EndpointError, match="signing_key cannot be stored without keys"):
        endpoints.update(endpoint.id, guard=GUARD, signatures=["v1a"])


@pytest.mark.parametrize(("url", "keeps_it"), [("https://example.com/other", True), ("https://evil.example", False)])
def test_a_client_certificate_does_not_follow_an_endpoint_to_another_origin(
    db: psycopg.Connection[Any], tls: Tls, url: str, *, keeps_it: bool
) -> None:
    endpoint = new(db, tls=tls)
    moved = update(db, endpoint, url=url)
    assert (moved.has_tls, moved.client_certificate_expires_at is not None) == (keeps_it, keeps_it)
    assert update(db, endpoint, url="https://third.example", tls=tls).has_tls


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"filter": "$.amount >"}, "the filter is not an SQL/JSON path: syntax error"),
    ({"filter": ""}, "the filter is not an SQL/JSON path: "),
    ({"filter": "x" * 1001}, "the filter has 1001 characters"),
    ({"filter": "$.a == \0"}, "the filter contains NUL"),
    ({"ordering": "random"}, "'random' is not an ordering"),
    ({"ordering": None}, "ordering cannot be None"),
    ({"rate_per_second": 0}, "rate_per_second is 1 to 10000"),
    ({"rate_per_second": 10_001}, "rate_per_second is 1 to 10000"),
    ({"signatures": []}, "an endpoint needs a signature"),
    ({"signatures": "v1"}, "an endpoint needs a signature"),
    ({"signatures": None}, "signatures cannot be None"),
    ({"signatures": ["v1", "v2"]}, "'v2' is not a signature"),
    ({"tls": Tls()}, "tls is empty"),
    ({"description": None}, "description cannot be None"),
]


def test_a_value_that_an_option_cannot_have_is_refused_with_the_reason(db: psycopg.Connection[Any]) -> None:
    endpoint = new(db)
    for options, message in REFUSED:
        with pytest.raises(EndpointError) as changing:
            update(db, endpoint, **options)
        with pytest.raises(EndpointError) as registering:
            new(db, **options)
        for refusal in (changing, registering):
            assert refusal.value.message.startswith(message)
    assert scalar(db, "select json_agg(e.version) from svc.webhook_endpoints e") == [1]
    with pytest.raises(TypeError, match="no option colour"):
        endpoints.update(endpoint.id, guard=GUARD, colour="red")  # type: ignore[call-arg]


GOOD_FILTERS = [
    PAID,
    "strict $.paid < $.amount",
    "lax $.a == 1",
    'exists($.items ? (@.sku == "A-1" && @.count > 2))',
    "($.a == 1 || $.b == 2) && !($.c == 3)",
    "($.a == 1) is unknown",
    '$.name starts with "A"',
    "$.items[*].count > 3",
    "$.items[0 to 3].count > 3",
    "$.items[last - 1].count > -3",
    '$.* == "1 + 1" && -1.5e3 < $.a',
    "$.items.size() > 3 && $.items[last].count == 1",
    '$."like_regex" == "**, $x [*] .* keyvalue()" && $."a\\"[*]" == "[*]"',
    "$.to.like_regex.keyvalue == 1",
    '$.at.datetime() < "2026-01-31".datetime()',
    "(" * 400 + "$ == 1" + ")" * 400,
    "exists($.a?(" + "||".join(["@>2"] * 190) + "))",
]
BAD_FILTERS = [
    ("$.amount", "is a path, and not a predicate"),
    ("$.amount + 1", "is a path, and not a predicate"),
    ("true", "is a path, and not a predicate"),
    ("$.items ? (@.a == 1)", "is a path, and not a predicate"),
    ("($.a == 1) ? (@ == true)", "is a path, and not a predicate"),
    ("$.a == 1) || ($.b == 2", "is not an SQL/JSON path"),
    ('$.a like_regex "^(a+)+$"', "contains like_regex"),
    ('$.a like_regex "("', "is not an SQL/JSON path"),
    ("$.**.a == 1", "contains **"),
    ("$.**{2 to last}.a == 1", "contains **"),
    ('$.keyvalue().key == "a"', "contains keyvalue()"),
    ("$.a == $limit", "contains a variable"),
    ("$.a[$.b] == 1", "contains a path in a subscript"),
    ("$[*].a[*] == 1", "contains more than one wildcard or range"),
    ("$.*.a[0 to 5] == 1", "contains more than one wildcard or range"),
    ("$" + "[0,0]" * 150 + " == 1", "contains more than one wildcard or range"),
    ("$.a == -$.b", "contains arithmetic"),
    ("$.a * 2 > 10", "contains arithmetic"),
    ("exists($.a ? (@ " + "- 1" * 200 + " < 0))", "contains arithmetic"),
    ("strict -(1 + $[*].a) < 0", "contains arithmetic"),
    ("$.a % 2 == 0", "contains arithmetic"),
    ("$.a > 1e5000", "contains too large numbers"),
    ("$.a == $.b", "compares two paths in lax mode"),
    ("$.a.size() == $.b.size()", "compares two paths in lax mode"),
    ("exists($.a ? (@ == $.b))", "compares two paths in lax mode"),
    ("exists($.a ? (exists(@.b ? (@.x == @.y))))", "compares two paths in lax mode"),
    ("exists($.a ? (@.x == 1 || exists($.b)))", "compares two paths in lax mode"),
]


def test_a_filter_is_a_predicate_whose_time_grows_no_faster_than_the_payload(db: psycopg.Connection[Any]) -> None:
    endpoint = new(db)
    for text in GOOD_FILTERS:
        assert update(db, endpoint, filter=text).filter == text
    for text, message in BAD_FILTERS:
        with pytest.raises(EndpointError) as refusal:
            update(db, endpoint, filter=text)
        assert refusal.value.message.startswith(f"the filter {message}")
        assert "$." in str(refusal.value.hint)


def test_a_delivery_has_the_signatures_that_its_endpoint_wants_and_both_verify(
    db: psycopg.Connection[Any], database: str
) -> None:
    with receiving() as receiver, working(database, CONFIG):

        def versions(endpoint: Endpoint, *keys: str) -> list[str]:
            """Those of a ping to it, which each of the keys verifies."""
            before = len(receiver.requests)
            webhooks.endpoints.ping(db, endpoint.id)
            request = receiver.wait_for(before + 1)[-1]
            for key in keys:
                assert webhooks.verify_webhook_signature(headers=request.headers, body=request.body, secret=key)
            return [each.partition(",")[0] for each in request.headers["webhook-signature"].split()]

        made = new(db, url=receiver.url, signatures=["v1", "v1a"])
        assert made.public_key is not None
        assert versions(made, made.secret, made.public_key) == ["v1", "v1a"]
        rotated = fetch_one(db, endpoints.rotate_secret(made.id, keys=KEYS))
        assert rotated.public_key not in (None, made.public_key)
        keys = (made.secret, made.public_key, rotated.secret, str(rotated.public_key))
        assert versions(made, *keys) == ["v1", "v1a", "v1", "v1a"]
        alone = update(db, made, signatures=["v1a"])
        wait_until(lambda: versions(alone, made.public_key or "", alone.public_key or "") == ["v1a", "v1a"], "only v1a")


def test_a_new_encryption_key_seals_key_pairs_and_tls_too(db: psycopg.Connection[Any], tls: Tls) -> None:
    made = new(db, signatures=["v1", "v1a"], tls=tls, headers={"X-Key": "1"})
    fetch_one(db, endpoints.rotate_secret(made.id, keys=KEYS))
    newest = KeyRing.parse(f"{new_key('k2')},{KEYS_TEXT}")
    assert reencrypt(db, newest) == 1
    names = "secret, previous_secret, signing_key, previous_signing_key, headers, tls"
    [sealed] = db.execute(f"select {names} from svc.webhook_endpoints").fetchall()
    assert all(bytes(each).startswith(newest.mark) for each in sealed)
    assert reencrypt(db, newest) == 0
    with pytest.raises(EncryptionKeyError):
        KEYS.open(sealed[2], owner=made.id, column=SIGNING_KEY_COLUMN)
