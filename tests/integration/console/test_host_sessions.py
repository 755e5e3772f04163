"""The application's own users: found by its function, by Django, or by the header of a trusted proxy."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import django
import httpx
import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.db.backends.postgresql.features import DatabaseFeatures
from starlette.requests import Request

from svc_pg.console import Console, ConsoleRequest, Session, django_users
from svc_pg.console.http.quotas import Limit
from svc_pg.console.sessions import call_limits
from svc_pg.errors import ConfigError
from svc_pg.settings import Permission
from tests.integration.actor import django_shop
from tests.integration.console.serving import (
    PREFIX,
    assert_problem,
    bearer,
    serving,
    serving_installed,
    settings,
    shop,
)
from tests.integration.console.signing_in import magic_settings

COOKIE = {"Cookie": "shop=bob"}


def session(email: str, *, minutes: float = 1, **more: Any) -> Session:
    ends_at = datetime.now(UTC) + timedelta(minutes=minutes)
    return Session(f"shop {email}", email, ("read", "write"), ends_at, **more)


async def by_cookie(request: ConsoleRequest) -> Session | None:
    """As an application would: bob is signed in by its cookie, or by its own kind of token."""
    theirs = Request(dict(request.scope))
    if theirs.headers.get("authorization") == "Bearer shop-token":
        return session("robot@shop.example")
    name = request.cookies.get("shop")
    minutes = -1 if name == "late" else 1
    return None if name is None else session(f"{name}@shop.example", minutes=minutes)


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    console = Console(settings(), products=[shop()], session_of=by_cookie)
    with serving_installed(console) as client:
        yield client


def who(client: httpx.Client, **headers: str) -> Any:
    answer = client.get("/account/session", headers=headers)
    return answer.json()["email"] if answer.is_success else (answer.status_code, answer.json()["code"])


def test_a_token_of_the_console_decides_else_the_application(client: httpx.Client) -> None:
    ours = bearer("admin")["Authorization"]
    ended = bearer("admin", lifetime=timedelta(seconds=-1))["Authorization"]
    assert who(client, **COOKIE) == "bob@shop.example"
    assert who(client, **COOKIE, Authorization=ours) == "ann@corp.example"
    assert who(client, **COOKIE, Authorization=ended) == (401, "invalid_token")
    assert who(client, Authorization="Bearer shop-token") == "robot@shop.example"
    assert who(client, Authorization="Bearer other-token") == (401, "invalid_token")
    assert who(client, **COOKIE, Authorization="Basic YW5uOnNlY3JldA==") == "bob@shop.example"
    assert who(client, Cookie="shop=late") == (401, "not_authenticated")
    assert who(client, Cookie="other=1") == (401, "not_authenticated")
    assert client.get("/account/session").headers["www-authenticate"] == 'Bearer realm="svc"'


@pytest.mark.parametrize(
    "values",
    [
        {"tenant": ""},
        {"tenant": "a\0"},
        {"tenant": "\ud800"},
        {"tenant": "x" * 401},
        {"tenant": 7},
        {"email": "a\0"},
        {"email": ""},
        {"email": "x" * 513},
        {"session_id": "\0"},
    ],
)
def test_a_session_that_cannot_be_is_refused_with_the_reason(values: dict[str, Any]) -> None:
    impossible = replace(session("ann@shop.example"), **values)
    with serving_installed(Console(settings(), session_of=lambda _request: impossible)) as client:
        for method, path in (
            ("GET", "/webhooks/endpoints"),
            ("POST", "/webhooks/endpoints"),
            ("GET", "/audit/entries"),
        ):
            refused = client.request(method, path)
            assert_problem(refused, 403, "invalid_session")
            assert next(iter(values)) in refused.json()["detail"]


def test_a_session_of_the_application_makes_as_many_calls_a_minute_as_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_limits, "CALLS", Limit("calls", 3, 60))
    with serving_installed(Console(settings(), products=[shop()], session_of=by_cookie)) as client:
        answers = [who(client, **COOKIE) for _ in range(3)]
        answers.append(client.get("/ui/sessions", headers=COOKIE).status_code)  # pages are calls too
        refused = client.get("/account/session", headers=COOKIE)
        assert answers == ["bob@shop.example"] * 3 + [429]
        assert_problem(refused, 429, "rate_limited")
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit"] == f'"calls";r=0;t={refused.headers["retry-after"]}'
        assert refused.headers["ratelimit-policy"] == '"calls";q=3;w=60'
        assert who(client, Cookie="shop=ann") == "ann@shop.example"
        monkeypatch.setattr(call_limits, "CALLS", Limit("calls", 3, 0))
        assert who(client, **COOKIE) == "bob@shop.example"


def test_two_tokens_of_which_one_is_the_consoles_are_refused(client: httpx.Client) -> None:
    for other in ("Bearer shop-token", bearer("read")["Authorization"]):
        headers = [("Authorization", other), ("Authorization", bearer("admin")["Authorization"])]
        assert_problem(client.get("/account/session", headers=headers), 401, "invalid_token")


def test_the_permissions_of_the_applications_session_hold(client: httpx.Client) -> None:
    assert client.post("/shop/orders", json={}, headers=COOKIE).status_code == 200
    assert_problem(client.delete("/shop/orders", headers=COOKIE), 403, "insufficient_scope")
    assert_problem(client.delete("/account/session", headers=COOKIE), 409, "session_not_stored")


@pytest.mark.parametrize(
    ("headers", "is_refused"),
    [
        ({}, False),
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, True),
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "http://["}, True),
        ({"Origin": "https://console.example"}, True),  # an allowed origin of CORS, whose pages send tokens
        ({"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer shop-token"}, False),
    ],
)
def test_a_page_of_another_site_cannot_use_the_applications_cookie(
    client: httpx.Client,
    headers: dict[str, str],
    is_refused: bool,  # noqa: FBT001
) -> None:
    answer = client.post("/shop/orders", json={}, headers=COOKIE | headers)
    if is_refused:
        assert_problem(answer, 403, "foreign_origin")
    else:
        assert answer.status_code == 200
    assert client.get("/shop/orders", headers=COOKIE | headers).status_code == 200


def test_two_origins_or_sites_of_which_one_is_foreign_are_refused(client: httpx.Client) -> None:
    own = str(client.base_url).removesuffix(PREFIX + "/")
    for name, good, bad in (("Origin", own, "https://evil.example"), ("Sec-Fetch-Site", "same-origin", "cross-site")):
        for first, second in ((good, bad), (bad, good)):
            headers = [*COOKIE.items(), (name, first), (name, second)]
            assert_problem(client.post("/shop/orders", json={}, headers=headers), 403, "foreign_origin")


def test_an_application_with_users_of_its_own_needs_nobody_who_signs_in_here(database: str) -> None:
    given = magic_settings(database, console_allowed_emails={}, console_mail_from=None)
    with pytest.raises(ConfigError, match="nobody could sign in"):
        Console(given)
    with serving_installed(Console(given, session_of=lambda _request: session("bob@shop.example"))) as client:
        assert who(client) == "bob@shop.example"
        assert client.get("/console/capabilities").json()["authMethods"] == []
        assert_problem(client.post("/console/session/init", json={"email": "ann@corp.example"}), 404, "not_found")


# An OIDC proxy


def proxied(*proxies: str) -> Console:
    return Console(
        settings(
            console_proxy_user_header="X-Forwarded-Email",
            console_trusted_proxies=list(proxies),
            console_allowed_emails={"*@corp.example": "write", "ann@corp.example": "admin"},
        )
    )


def test_the_header_of_a_trusted_proxy_names_the_user_and_the_settings_the_permission() -> None:
    with serving_installed(proxied("127.0.0.1")) as client:
        assert who(client, **{"X-Forwarded-Email": "Ann@Corp.Example"}) == "ann@corp.example"
        assert client.get("/account/sessions", headers={"X-Forwarded-Email": "bob@corp.example"}).status_code == 403
        assert who(client, **{"X-Forwarded-Email": "eve@evil.example"}) == (403, "not_allowed")
        assert who(client, **{"X-Forwarded-Email": "ann@corp.example, eve@evil.example"}) == (401, "invalid_proxy_user")
        assert who(client, **{"X-Forwarded-Email": ""}) == (401, "invalid_proxy_user")
        assert who(client) == (401, "not_authenticated")
        twice = [("X-Forwarded-Email", "ann@corp.example"), ("X-Forwarded-Email", "ann@corp.example")]
        assert_problem(client.get("/account/session", headers=twice), 401, "invalid_proxy_user")


def test_nobody_but_the_proxy_can_send_its_header() -> None:
    console = proxied("192.0.2.1", "2001:db8::/32")
    with (
        serving(console.asgi, proxy_headers=False) as url,
        httpx.Client(base_url=url + PREFIX) as client,
    ):
        for forwarded in ({}, {"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}):
            headers = {"X-Forwarded-Email": "ann@corp.example", **forwarded}
            assert who(client, **headers) == (401, "not_authenticated")


def test_a_header_without_a_proxy_or_beside_a_function_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_TRUSTED_PROXIES names no proxy"):
        Console(magic_settings("", console_proxy_user_header="X-User", console_trusted_proxies=[]))
    with pytest.raises(ConfigError, match="choose one"):
        Console(settings(console_proxy_user_header="X-User"), session_of=by_cookie)
    for name in ("X User", "", "Cookie", "X-Forwarded-For", "é"):
        with pytest.raises(ConfigError, match="SVC_CONSOLE_PROXY_USER_HEADER"):
            settings(console_proxy_user_header=name)


# Django


ENGINES = ("db", "file", "cache", "cached_db", "signed_cookies")


@pytest.fixture
def staff(database: str, tmp_path: Path) -> Iterator[SimpleNamespace]:
    """Django's users in the database, and a way to sign them in there: in its default engine, unless one is set."""
    with psycopg.connect(database) as conn:
        (needed,) = DatabaseFeatures.minimum_database_version or (0,)
        if conn.info.server_version // 10000 < needed:
            pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")
    django_shop.use(database)
    from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import override_settings

    def store_of(key: str | None = None) -> Any:
        return import_module(django_settings.SESSION_ENGINE).SessionStore(key)

    def sign_in(name: str, **fields: Any) -> tuple[Any, dict[str, str]]:
        user = User.objects.create_user(name, f"{name}@shop.example", "password", **fields)
        store = store_of()
        store[SESSION_KEY] = str(user.pk)
        store["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
        store[HASH_SESSION_KEY] = user.get_session_auth_hash()
        store.save()
        return user, {"Cookie": f"sessionid={store.session_key}"}

    with override_settings(
        SESSION_FILE_PATH=str(tmp_path),
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ):
        for app in ("auth", "sessions"):
            call_command("migrate", app, verbosity=0)
        yield SimpleNamespace(sign_in=sign_in, store_of=store_of)
    connections.close_all()


def test_djangos_staff_is_signed_in_by_its_cookie(staff: SimpleNamespace) -> None:
    boss, boss_cookie = staff.sign_in("boss", is_superuser=True)
    reader, reader_cookie = staff.sign_in("reader", is_staff=True)
    _, customer_cookie = staff.sign_in("customer")
    _, retired_cookie = staff.sign_in("retired", is_superuser=True, is_active=False)
    with serving_installed(Console(settings(), products=[shop()], session_of=django_users())) as client:
        found = client.get("/account/session", headers=boss_cookie).json()
        assert (found["email"], found["permissions"]) == ("boss@shop.example", ["read", "write", "admin"])
        assert boss_cookie["Cookie"].partition("=")[2] not in found["sessionId"]
        assert client.get("/account/session", headers=reader_cookie).json()["permissions"] == ["read"]
        assert_problem(client.post("/shop/orders", json={}, headers=reader_cookie), 403, "insufficient_scope")
        for cookie in (customer_cookie, retired_cookie, {"Cookie": "sessionid=made-up"}, {"Cookie": "sessionid="}):
            assert_problem(client.get("/account/session", headers=cookie), 401, "not_authenticated")
        boss.set_password("changed")
        boss.save()
        assert_problem(client.get("/account/session", headers=boss_cookie), 401, "not_authenticated")
        reader.is_staff = False
        reader.save()
        assert_problem(client.get("/account/session", headers=reader_cookie), 401, "not_authenticated")


@pytest.mark.parametrize("engine", ENGINES)
def test_staff_is_signed_in_with_every_engine_of_sessions(staff: SimpleNamespace, tmp_path: Path, engine: str) -> None:
    from django.core.cache import cache
    from django.test import override_settings

    name = f"django.contrib.sessions.backends.{engine}"
    with (
        override_settings(SESSION_ENGINE=name),
        serving_installed(Console(settings(), session_of=django_users())) as client,
    ):
        _, cookie = staff.sign_in("boss", is_superuser=True)
        if engine == "cached_db":
            cache.clear()
        for _ in range(2):
            assert who(client, **cookie) == "boss@shop.example"
        key = cookie["Cookie"].partition("=")[2]
        assert who(client, Cookie=f"sessionid={key[:-1]}") == (401, "not_authenticated")
        assert who(client, Cookie="sessionid=../../etc/passwd") == (401, "not_authenticated")
        with override_settings(SESSION_COOKIE_AGE=-1):
            assert who(client, **cookie) == (401, "not_authenticated")
        if engine == "file":
            [kept] = tmp_path.iterdir()
            assert kept.name == f"sessionid{key}"


def test_djangos_sessions_are_read_whatever_its_times_and_secrets_and_stay_as_they_are(staff: SimpleNamespace) -> None:
    from django.test import override_settings

    _, cookie = staff.sign_in("boss", is_superuser=True)
    key = cookie["Cookie"].partition("=")[2]
    before = staff.store_of(key).load()
    with serving_installed(Console(settings(), session_of=django_users())) as client:
        with override_settings(USE_TZ=False):
            assert client.get("/account/session", headers=cookie).status_code == 200
        with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[django_settings.SECRET_KEY]):
            for _ in range(2):
                assert client.get("/account/session", headers=cookie).status_code == 200
        with override_settings(SECRET_KEY="new"):
            assert_problem(client.get("/account/session", headers=cookie), 401, "not_authenticated")
    assert staff.store_of(key).load() == before


# Pages


def test_pages_take_the_consoles_cookie_else_the_applications_user(client: httpx.Client) -> None:
    token = bearer("admin")["Authorization"].removeprefix("Bearer ")
    ended = bearer("admin", lifetime=timedelta(seconds=-1))["Authorization"].removeprefix("Bearer ")
    pages = {
        "shop=bob": (403, "bob@shop.example"),  # of whom the page Tokens wants more
        f"shop=bob; svc_console={ended}": (403, "bob@shop.example"),
        "shop=late": (303, ""),
        f"svc_console={ended}": (303, ""),
    }
    for cookie, (status, shown) in pages.items():
        answer = client.get("/ui/tokens", headers={"Cookie": cookie})
        assert (answer.status_code, shown in answer.text) == (status, True)
    for cookie, shown in ((f"shop=bob; svc_console={token}", "ann@corp.example"), ("shop=bob", "bob@shop.example")):
        answer = client.get("/ui/nowhere", headers={"Cookie": cookie})
        assert (answer.status_code, shown in answer.text) == (404, True)
    assert client.post("/ui/sign-out", headers=COOKIE).status_code == 403  # no page of the console sent it


@pytest.mark.parametrize(("permissions", "shown"), [((), "no permission"), (("write", "read"), "write")])
def test_pages_tell_the_greatest_permission_of_the_applications_session(
    permissions: tuple[Permission, ...], shown: str
) -> None:
    console = Console(settings(), session_of=lambda _: replace(session("bob@shop.example"), permissions=permissions))
    with serving_installed(console) as client:
        answer = client.get("/ui/tokens")
    assert answer.status_code == 403
    assert f"<bdi>bob@shop.example</bdi> with <code>{shown}</code>" in answer.text
