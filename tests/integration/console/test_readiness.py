import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import Config, schema
from svc_pg.console import Console
from svc_pg.console.database import pool as database
from svc_pg.console.status import readiness
from tests.integration.console.serving import assert_problem, serving_installed, settings


def test_a_console_is_ready_when_it_reads_its_tables(shared_database: str) -> None:
    with serving_installed(Console(settings(database_url=shared_database))) as client:
        answer = client.get("/console/ready")
        assert (answer.status_code, answer.json()) == (200, {"status": "ready"})
        assert client.head("/console/ready").status_code == 200


def test_a_console_without_its_database_is_healthy_and_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL_TIMEOUT_SECONDS", 0.2)
    with serving_installed(Console(settings(database_url="host=127.0.0.1 port=9"))) as client:
        assert_problem(client.get("/console/ready"), 503, "database_unavailable")
        assert client.head("/console/ready").status_code == 503
        assert client.get("/console/health").status_code == 200


def test_a_console_is_not_ready_before_install_and_is_after_it(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", 0)
    with serving_installed(Console(settings(database_url=empty_database))) as client:
        assert_problem(client.get("/console/ready"), 503, "not_installed")
        with psycopg.connect(empty_database) as conn:
            schema.install(conn, Config())
        assert client.get("/console/ready").status_code == 200


def test_a_role_without_rights_is_not_ready(shared_database: str) -> None:
    as_sender = make_conninfo(shared_database, options="-c role=svc_sender")
    with serving_installed(Console(settings(database_url=as_sender))) as client:
        assert_problem(client.get("/console/ready"), 503, "access_denied")


def test_the_database_is_asked_seldom_however_many_ask(shared_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "REMEMBERED_SECONDS", 60)
    with serving_installed(Console(settings(database_url=shared_database))) as client:
        assert client.get("/console/ready").status_code == 200
        with psycopg.connect(shared_database) as blocker:
            blocker.execute("lock table svc.console_sessions in access exclusive mode")
            answers = [client.get("/console/ready") for _ in range(3)]
            blocker.rollback()
    assert [answer.status_code for answer in answers] == [200] * 3
