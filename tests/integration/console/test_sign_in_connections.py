"""Signing in through the connections that an application has, or has not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from svc_pg.console import Console
from tests.integration.console.serving import PREFIX, assert_problem, serving
from tests.integration.console.signing_in import (
    ANY_CODE,
    Device,
    Mailbox,
    magic_settings,
    new_address,
    serving_magic,
    sign_in,
)


def test_the_rights_of_svc_admin_are_enough(console_database: str, mailbox: Mailbox) -> None:
    as_admin = make_conninfo(console_database, options="-c role=svc_admin")
    with serving_magic(as_admin, mailbox) as client:
        bearer = sign_in(client, mailbox, new_address("admin.example"))
        assert client.get("/account/sessions", headers=bearer).status_code == 200
        assert client.delete("/account/session", headers=bearer).status_code == 204
        assert client.get("/account/session", headers=bearer).status_code == 401


def test_a_pool_of_the_application_may_commit_by_itself_and_make_other_rows(
    console_database: str, mailbox: Mailbox
) -> None:
    pool = AsyncConnectionPool[Any](
        console_database, kwargs={"autocommit": True, "row_factory": dict_row}, min_size=0, max_size=2, open=False
    )
    console = Console(magic_settings(console_database), pool=pool, email_sender=mailbox)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with pool, console.lifespan():
            yield

    app = FastAPI(lifespan=lifespan)
    console.install(app)
    with (
        serving(app, proxy_headers=False) as base_url,
        httpx.Client(base_url=base_url + PREFIX) as client,
    ):
        bearer = sign_in(client, mailbox, new_address("admin.example"))
        assert client.get("/account/sessions", headers=bearer).status_code == 200
        assert client.delete("/account/session", headers=bearer).status_code == 204
        assert client.get("/account/session", headers=bearer).status_code == 401


def test_without_its_database_nobody_signs_in_and_no_session_is_believed(
    magic: httpx.Client, mailbox: Mailbox, console_database: str
) -> None:
    bearer = sign_in(magic, mailbox, new_address())
    console = Console(magic_settings(console_database), pool=AsyncConnectionPool(open=False), email_sender=mailbox)
    with serving(console.asgi) as base_url, httpx.Client(base_url=base_url + PREFIX) as client:
        assert client.get("/console/health").status_code == 200
        device = Device(client, new_address())
        device.bearer = {"Authorization": "Bearer x"}
        device.session_id = "00000000-0000-4000-8000-000000000000"
        for answer in (device.begun, device.verify(ANY_CODE), client.get("/account/session", headers=bearer)):
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "5"


def test_a_database_that_was_not_installed_is_503_with_the_remedy(empty_database: str, mailbox: Mailbox) -> None:
    with serving_magic(empty_database, mailbox) as client:
        begun = Device(client, new_address()).begun
    assert_problem(begun, 503, "not_installed")
    assert "svc-pg install" in begun.json()["detail"]
