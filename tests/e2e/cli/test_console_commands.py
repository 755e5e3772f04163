import getpass
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from svc_pg.database.query import scalar
from tests.support.commands import Process, environment, running, svc_pg
from tests.support.postgres import new_database
from tests.support.waiting import wait_until

Run = Callable[..., "subprocess.CompletedProcess[str]"]
HASH = "sha256:" + "ab" * 32


@pytest.fixture(scope="module")
def db(postgres: str, template: str) -> Iterator[str]:
    """One database for all tests here; each signs in addresses of its own."""
    with new_database(postgres, template=template) as conninfo:
        yield conninfo


@pytest.fixture
def run(db: str, tmp_path: Path) -> Run:
    return lambda *arguments, read=b"", **variables: svc_pg(
        *arguments, folder=tmp_path, variables={"DATABASE_URL": db, **variables}, read=read
    )


def test_the_document_of_the_api_needs_no_database_and_no_settings(tmp_path: Path) -> None:
    wrong = {"DATABASE_URL": "nonsense", "SVC_CONSOLE_TOKEN_LIFETIME": "nonsense"}
    printed = svc_pg("console", "openapi", folder=tmp_path, variables=wrong)
    written = svc_pg("console", "openapi", "--to", "api.json", folder=tmp_path, variables=wrong)
    committed = Path("docs/openapi.json").read_text(encoding="utf-8")
    assert (printed.returncode, printed.stdout, printed.stderr) == (0, committed, "")
    assert (written.returncode, written.stdout) == (0, "")
    assert (tmp_path / "api.json").read_text(encoding="utf-8") == committed


def signed_in(db: str, email: str, **times: str) -> str:
    session_id = str(uuid4())
    with psycopg.connect(db) as conn:
        conn.execute(
            """insert into svc.console_sessions (id, email, permission, token_hash, ip, created_at, expires_at)
               values (%s, %s, 'admin', sha256(%s), '203.0.113.9', now() - interval '2 h', now() + %s::interval)""",
            (session_id, email, session_id.encode(), times.get("until", "1 h")),
        )
    return session_id


def test_init_prints_a_new_key_as_a_line_for_the_environment(run: Run) -> None:
    made = run("console", "init")
    assert made.returncode == 0
    assert re.fullmatch(r"SVC_CONSOLE_CONNECTION_TOKEN_HASH=sha256:[0-9a-f]{64}\n", made.stdout)
    assert run("console", "init").stdout != made.stdout


@pytest.mark.parametrize("export", ["", "export "])
def test_the_lines_of_init_can_be_pasted_into_a_shell(run: Run, tmp_path: Path, export: str) -> None:
    made = run("console", "init")
    lines = [line for line in (made.stdout + made.stderr).splitlines() if line.startswith("SVC_")]
    assert len(lines) == 4
    (tmp_path / "svc.env").write_text("".join(f"{export}{line}\n" for line in lines), encoding="utf-8")
    program = (
        "from svc_pg.settings import Settings; from svc_pg.console import Console; s = Settings.load(); Console(s);"
        "print(dict(s.console_allowed_emails), s.console_mail_from, s.console_smtp_url.get_secret_value())"
    )
    done = subprocess.run(
        ["sh", "-c", 'set -a; . ./svc.env; exec "$0" -c "$1"', sys.executable, program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "{'ann@corp.example': 'admin', '*@corp.example': 'read'} console@corp.example"
        " smtp://user:password@mail.corp.example:587\n"
    )


def test_sessions_shows_who_is_signed_in_and_all_also_who_was(run: Run, db: str) -> None:
    live = signed_in(db, "ann@corp.example")
    over = signed_in(db, "eve@corp.example\x1b[2J", until="-1 min")
    shown = run("console", "sessions")
    assert shown.returncode == 0
    assert live in shown.stdout
    assert "203.0.113.9" in shown.stdout
    assert over not in shown.stdout
    everybody = run("console", "sessions", "--all")
    assert over in everybody.stdout
    assert "\x1b" not in everybody.stdout
    listed = json.loads(run("console", "sessions", "--all", "--json").stdout)["data"]
    assert {live, over} <= {session["sessionId"] for session in listed}
    assert {"email", "permission", "createdAt", "expiresAt", "revokedAt"} <= set(listed[0])
    assert "oken" not in "".join(listed[0])


def test_revoke_asks_once_ends_a_session_and_says_which_and_who_did_it(run: Run, db: str) -> None:
    session_id = signed_in(db, "bob@corp.example")
    words = f"the session {session_id} of bob@corp.example, admin, from 203.0.113.9 with an unknown program, since "
    for answer in (b"", b"n\n"):
        kept = run("console", "revoke", session_id, read=answer)
        assert (kept.returncode, kept.stdout.strip()) == (1, "")
        assert kept.stderr.startswith(f"End {words}")
    with psycopg.connect(db) as conn:
        assert scalar(conn, "select revoked_at from svc.console_sessions where id = %s", (session_id,)) is None
    ended = run("console", "revoke", session_id, read=b"y\n")
    assert (ended.returncode, ended.stdout.strip(), f"ended {words}" in ended.stderr) == (0, "", True), ended.stderr
    with psycopg.connect(db) as conn:
        revoked_by = scalar(conn, "select revoked_by from svc.console_sessions where id = %s", (session_id,))
        event = scalar(conn, "select event from svc.console_events where session_id = %s", (session_id,))
    assert (event, revoked_by) == ("session_revoked", getpass.getuser())
    again = run("console", "revoke", session_id)
    assert (again.returncode, again.stderr.startswith(words)) == (0, True)
    assert again.stderr.endswith(f": ended before, by {getpass.getuser()}\n")
    assert session_id in run("console", "sessions", "--all").stdout
    over = run("console", "revoke", signed_in(db, "eve@corp.example", until="-1 min"))
    assert (over.returncode, over.stderr.endswith(": ended before, by itself\n")) == (0, True)


def test_an_unknown_session_is_an_error_with_the_command_that_lists_them(run: Run) -> None:
    failed = run("console", "revoke", str(uuid4()))
    assert failed.returncode == 1
    assert "svc-pg console sessions --all" in failed.stderr
    assert run("console", "revoke", "7").returncode == 2


def test_no_sessions_are_said_in_words(run: Run, db: str) -> None:
    with psycopg.connect(db) as conn:
        conn.execute("update svc.console_sessions set expires_at = now() - interval '1 s'")
    shown = run("console", "sessions")
    assert (shown.stdout, shown.stderr) == ("", "Nobody is signed in. Auto-approved sessions are not stored.\n")


@contextmanager
def serving(db: str, folder: Path) -> Iterator[tuple[Process, str]]:
    """Run the server, in development, and give it with its URL; its words are in the file ``log`` of the folder."""
    log = folder / "log"
    command = ("serve", "--port", "0", "--database-url", db)
    variables = {
        "SVC_ENV": "development",
        "SVC_CONSOLE_AUTO_APPROVE": "true",
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH": HASH,
    }
    with (
        log.open("w") as words,
        running(*command, folder=folder, variables=variables, stdout=words, stderr=words) as server,
    ):
        yield server, wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+", log.read_text()), "it listens")[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_on_this_machine_until_it_is_told_to_end(db: str, tmp_path: Path, number: signal.Signals) -> None:
    with serving(db, tmp_path) as (server, url):
        base_url = f"{url}/.well-known/svc"
        assert httpx.get(f"{base_url}/console/health").json() == {"status": "ok"}
        for path in ("/", "/.well-known/svc"):
            assert httpx.get(f"{url}{path}").headers["location"] == "/.well-known/svc/ui", "where people look first"
        init = httpx.post(f"{base_url}/console/session/init", json={})
        assert init.status_code == 200
        bearer = {"Authorization": f"Bearer {init.json()['sessionToken']}"}
        assert httpx.get(f"{base_url}/audit/entries", headers=bearer).status_code == 200
        assert httpx.get(f"{url}/api/webhooks/endpoints", headers=bearer).json()["data"] == []
        tenant, links = f"acme-{number}", f"{url}/api/webhooks/portal-sessions"
        unknown = httpx.post(links, json={"tenant": tenant}, headers=bearer)
        assert unknown.json()["code"] == "unknown_tenant"
        httpx.post(f"{base_url}/tenant/tenants", json={"id": tenant, "name": tenant}, headers=bearer)
        link = httpx.post(links, json={"tenant": tenant}, headers=bearer).json()["path"]
        assert httpx.get(f"{url}{link}").status_code == 200
        assert httpx.delete(f"{base_url}/tenant/tenants/{tenant}", headers=bearer).status_code == 204
        spoofed = httpx.post(f"{base_url}/console/session/init", json={}, headers={"X-Forwarded-For": "203.0.113.9"})
        assert spoofed.status_code == 403
        server.send_signal(number)
        assert server.wait(timeout=20) == 0
    log = (tmp_path / "log").read_text()
    assert init.json()["sessionToken"] not in log
    page, _, token = link.partition("?token=")
    assert (f'"GET {page} HTTP/1.1" 200' in log, token in log) == (True, False)


def test_serve_ends_while_a_client_has_not_sent_its_body(db: str, tmp_path: Path) -> None:
    head = b"POST /.well-known/svc/console/session/init HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n"
    with serving(db, tmp_path) as (server, url), slow_client(url, head) as other:
        other.sendall(b"Content-Type: application/json\r\n\r\n{")
        assert httpx.get(f"{url}/.well-known/svc/console/health").status_code == 200  # and so the other is read too
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=20) == 0
    words = (tmp_path / "log").read_text()
    assert "Cancel 1 running task(s)" in words
    assert "Traceback" not in words


@contextmanager
def slow_client(url: str, head: bytes) -> Iterator[socket.socket]:
    """A connection on which the beginning of a request was sent."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(head)
        yield sock


def test_a_variable_too_names_the_address_of_serve(db: str, tmp_path: Path) -> None:
    variables = {
        "SVC_ENV": "development",
        "SVC_CONSOLE_AUTO_APPROVE": "true",
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH": HASH,
        "SVC_SERVE_HOST": "192.0.2.1",
    }
    done = svc_pg("serve", "--database-url", db, folder=tmp_path, variables=variables)
    assert (done.returncode, "cannot listen on 192.0.2.1" in done.stderr) == (1, True)
    done = svc_pg("serve", "--database-url", db, folder=tmp_path, variables=variables | {"SVC_SERVE_PORT": "70000"})
    assert (done.returncode, "SVC_SERVE_PORT" in done.stderr) == (2, True)
    done = svc_pg("serve", "--host", "", "--database-url", db, folder=tmp_path, variables=variables)
    assert (done.returncode, "the address to listen on is empty" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"SVC_CONSOLE_AUTO_APPROVE": "true", "SVC_CONSOLE_CONNECTION_TOKEN_HASH": HASH},
            "error: ConsoleAutoApproveInProductionError: SVC_CONSOLE_AUTO_APPROVE is on",
        ),
        (
            {
                "SVC_CONSOLE_CONNECTION_TOKEN_HASH": "sha256:" + "a" * 31,
                "SVC_CONSOLE_ALLOWED_EMAILS": '{"ann@corp.example":"admin"}',
                "SVC_CONSOLE_SMTP_URL": "smtp://mail.corp.example",
                "SVC_CONSOLE_MAIL_FROM": "console@corp.example",
            },
            "error: ConsoleWeakSecretError: SVC_CONSOLE_CONNECTION_TOKEN_HASH has 31 characters",
        ),
        ({}, "error: SVC_CONSOLE_CONNECTION_TOKEN_HASH is not set"),
        ({"SVC_ENV": "prod", "SVC_CONSOLE_MAX_ATTEMPTS": "x"}, "SVC_CONSOLE_MAX_ATTEMPTS: "),
    ],
)
def test_serve_does_not_start_where_the_settings_are_not_good_enough(
    run: Run, variables: dict[str, str], message: str
) -> None:
    refused = run("serve", "--port", "0", **variables)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_sign_in_prints_a_link_for_the_day_without_mail(run: Run, db: str) -> None:
    variables = {
        "SVC_CONSOLE_ALLOWED_EMAILS": '{"ann@corp.example": "admin"}',
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH": HASH,
        "SVC_CONSOLE_PUBLIC_URL": "https://console.example/start",
    }
    made = run("console", "sign-in", "Ann@corp.example", **variables)
    assert made.returncode == 0, made.stderr
    base = "https://console.example/.well-known/svc/ui/sign-in/link?token="
    assert re.fullmatch(rf"{re.escape(base)}[0-9a-f-]{{36}}\.[\w-]{{43}}\n", made.stdout)
    assert "ann@corp.example with the permission admin" in made.stderr
    with psycopg.connect(db) as conn:
        events = conn.execute("select email, detail from svc.console_events where event = 'link_made'").fetchall()
    assert events == [("ann@corp.example", f"by {getpass.getuser()}")]
    other = run("console", "sign-in", "ann@corp.example", "--url", "http://127.0.0.1:9000/", **variables)
    assert other.stdout.startswith("http://127.0.0.1:9000/.well-known/svc/ui/sign-in/link?token=")
    warning = "A link to 127.0.0.1 opens on this machine alone. Set SVC_CONSOLE_PUBLIC_URL"
    assert (warning in made.stderr, warning in other.stderr) == (False, True)
    refused = run("console", "sign-in", "eve@corp.example", **variables)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "may not sign in" in refused.stderr


def test_views_of_everybody_are_listed_and_deleted(run: Run, db: str) -> None:
    assert "No view is kept" in run("console", "view", "list").stderr
    with psycopg.connect(db) as conn:
        for owner, name in ((None, "Failed"), ("ann@corp.example", "Mine\x1b[2J")):
            conn.execute(
                "select svc.console_add_view(gen_random_uuid(), 'deliveries', %s, %s, 'status:failed')", [owner, name]
            )
    listed = run("console", "view", "list").stdout
    assert "the team's, deliveries: status:failed" in listed
    assert "\x1b" not in listed
    assert [
        each["name"] for each in json.loads(run("console", "view", "list", "--json", "--text", "FAIL").stdout)["data"]
    ] == ["Failed"]
    assert "No view is kept" in run("console", "view", "list", "--of", "audit").stderr
    for view in json.loads(run("console", "view", "list", "--json").stdout)["data"]:
        assert run("console", "view", "delete", view["id"]).returncode == 1  # nobody says yes
        assert run("console", "view", "delete", view["id"], "--yes").stderr.startswith("deleted the view ")
        gone = run("console", "view", "delete", view["id"], "--yes")
        assert (gone.returncode, "no view has the id" in gone.stderr) == (1, True)
    with psycopg.connect(db) as conn:
        [told] = conn.execute("select email, detail from svc.console_events where event = 'view_deleted'").fetchall()
    assert told == (getpass.getuser(), "deliveries Failed: status:failed")


def test_tokens_of_programs_are_made_listed_and_revoked(run: Run, db: str) -> None:
    made = run("console", "token", "add", "report", "--permission", "write", "--tenant", "acme", "--expires", "7d")
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    assert re.fullmatch(r"svcpg_[\w-]{43}", token)
    assert token not in made.stderr
    with psycopg.connect(db) as conn:
        found = conn.execute("select name, permission, tenant, created_by from svc.console_tokens").fetchall()
        events = conn.execute("select event, email from svc.console_events where detail like 'report%'").fetchall()
    assert found == [("report", "write", "acme", getpass.getuser())]
    assert events == [("token_added", getpass.getuser())]
    listed = run("console", "token", "list").stdout
    assert "report  write of tenant acme" in listed
    assert "never used" in listed
    assert json.loads(run("console", "token", "list", "--json").stdout)["data"][0]["name"] == "report"
    twice = run("console", "token", "add", "report")
    assert (twice.returncode, "has the name 'report'" in twice.stderr) == (1, True)
    assert run("console", "token", "add", "a b").returncode == 1
    words = "the token report, write of the tenant acme, never used"
    assert run("console", "token", "revoke", "report").returncode == 1  # nobody says yes
    ended = run("console", "token", "revoke", "report", read=b"y\n")
    assert (ended.returncode, ended.stderr) == (0, f"End {words}? [y/N]: ended {words}\n")
    assert run("console", "token", "revoke", "report", "--yes").returncode == 1
    run("console", "token", "add", "report")
    by_id = json.loads(run("console", "token", "list", "--json").stdout)["data"][0]["id"]
    assert run("console", "token", "revoke", by_id, "--yes").stderr == "ended the token report, read, never used\n"
    assert run("console", "token", "revoke", by_id).stderr.endswith(f"ended before, by {getpass.getuser()}\n")
    assert "No program has a token" in run("console", "token", "list").stderr
    assert "revoked by" in run("console", "token", "list", "--all").stdout


def test_portal_link_prints_a_link_of_a_tenant(run: Run, db: str) -> None:
    made = run("webhooks", "portal-link", "--tenant", "acme", SVC_CONSOLE_PUBLIC_URL="https://shop.example/console")
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"https://shop\.example/\.well-known/svc/ui/portal/enter\?token=[\w-]{43}\n", made.stdout)
    with psycopg.connect(db) as conn:
        event = conn.execute(  # the last one: other tests make links, too
            "select email, detail from svc.console_events where event = 'portal_link_made' order by id desc limit 1"
        ).fetchone()
    assert event == (getpass.getuser(), "of tenant acme")
    assert "opens on this machine alone" not in made.stderr
    [ending] = re.findall(r"svc-pg (console revoke \S+)", made.stderr)
    ended = run(*ending.split(), "--yes")
    words = f"ended the link {ending.split()[-1]} to the portal of the tenant acme, made by {getpass.getuser()}\n"
    assert (ended.returncode, ended.stderr) == (0, words)
    assert run("webhooks", "portal-link", "--tenant", "").returncode == 1
    run("webhooks", "portal-link", "--tenant", "acme")
    run("console", "token", "add", "of-acme", "--tenant", "acme")
    words = "1 link, 0 sessions and 1 token of the tenant acme"
    assert run("console", "revoke", "--tenant", "acme").stderr.startswith(f"End {words}? [y/N]:")
    first, again = (run("console", "revoke", "--tenant", "acme", "--yes").stderr for _ in range(2))
    assert first == f"ended {words}\n"
    assert again == "ended 0 links, 0 sessions and 0 tokens of the tenant acme\n"
    assert run("console", "revoke").returncode == 2
    assert "Nothing else in this database" in run("webhooks", "portal-link", "--tenant", "acmee").stderr
    with psycopg.connect(db) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme')")
    local = run("webhooks", "portal-link", "--tenant", "acme")
    assert local.stdout.startswith("http://127.0.0.1:8000/.well-known/svc/ui/portal/enter?token=")
    assert "A link to 127.0.0.1 opens on this machine alone. Set SVC_CONSOLE_PUBLIC_URL" in local.stderr
    assert local.stderr.endswith(" Or pass --url.\n")
    assert "note: 8000 is a guess" in local.stderr
    served = run("webhooks", "portal-link", "--tenant", "acme", SVC_SERVE_PORT="8001", SVC_SERVE_HOST="::1")
    assert served.stdout.startswith("http://[::1]:8001/.well-known/svc/ui/portal/enter?token=")
    assert "guess" not in served.stderr
    unknown = run("webhooks", "portal-link", "--tenant", "acme", SVC_SERVE_PORT="0")
    assert (unknown.stdout.partition("/.well")[0], "guess" in unknown.stderr) == ("http://127.0.0.1:8000", True)
    wrong = run("webhooks", "portal-link", "--tenant", "acme", SVC_SERVE_PORT="80x")
    assert (wrong.returncode, "'80x' is no port" in wrong.stderr) == (2, True)
    unknown = run("webhooks", "portal-link", "--tenant", "acmee")
    assert (unknown.returncode, "no tenant has the id acmee" in unknown.stderr) == (1, True)
    assert run("console", "token", "add", "of-acmee", "--tenant", "acmee").returncode == 1
    with psycopg.connect(db) as conn:
        conn.execute("delete from svc.tenants")
    assert run("webhooks", "portal-link", "--tenant", "acme", "--expires", "2d").returncode == 1
    assert run("webhooks", "portal-link").returncode == 2
