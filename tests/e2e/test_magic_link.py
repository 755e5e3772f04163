"""A client that knows the documents alone signs in by mail, changes a tenant, and finds itself in the audit log."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.commands import PROGRAM, environment, svc_pg
from tests.support.smtp import post_office
from tests.support.waiting import wait_until


class Client:
    """Speaks HTTP to ``{base_url}/.well-known/svc`` and imports nothing of the program."""

    def __init__(self, base_url: str) -> None:
        self.http = httpx.Client(base_url=f"{base_url}/.well-known/svc", timeout=20)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def sign_in(self, email: str, read_code: Iterator[str]) -> None:
        methods = self.http.get("/console/capabilities").json()["authMethods"]
        assert methods == ["magic_link"]
        begun = self.http.post("/console/session/init", json={"email": email}).raise_for_status().json()
        device = {"Authorization": f"Bearer {begun['deviceToken']}"}
        session = {"sessionId": begun["sessionId"]}
        polled = self.http.get("/console/session/poll", params=session, headers=device).raise_for_status().json()
        assert polled["status"] == "pending"
        body = session | {"code": next(read_code)}
        verified = self.http.post("/console/session/verify", json=body, headers=device).raise_for_status().json()
        assert verified["status"] == "verified"
        claimed = self.http.post("/console/session/claim", json=session, headers=device).raise_for_status().json()
        self.http.headers["Authorization"] = f"{claimed['tokenType']} {claimed['sessionToken']}"


@contextmanager
def serving(folder: Path, **variables: str) -> Iterator[str]:
    """Run ``svc-pg serve`` and give its base URL."""
    log = folder / "serve.log"
    with log.open("w") as words:
        server = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0"], cwd=folder, env=environment(**variables), stdout=words, stderr=words
        )
    try:
        found = wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+", log.read_text()), "it listens")
        yield found[0]
        server.terminate()
        assert server.wait(timeout=20) == 0
    finally:
        server.kill()
        server.wait()


def test_somebody_signs_in_by_mail_and_what_they_do_is_on_record(empty_database: str, tmp_path: Path) -> None:
    database = {"DATABASE_URL": empty_database}
    assert svc_pg("install", folder=tmp_path, variables=database).returncode == 0
    made = svc_pg("console", "init", folder=tmp_path)
    name, _, token_hash = made.stdout.strip().partition("=")
    with post_office(tmp_path) as office:

        def codes() -> Iterator[str]:
            [message] = wait_until(lambda: office.messages, "the mail arrives")
            assert message["To"] == "ann@corp.example"
            found = re.search(r"[A-Z2-9]{3}-[A-Z2-9]{3}", message.get_content())
            assert found is not None
            yield found[0].lower()

        settings = {
            name: token_hash,
            "SVC_CONSOLE_ALLOWED_EMAILS": json.dumps({"ann@corp.example": "admin"}),
            "SVC_CONSOLE_SMTP_URL": f"smtp://127.0.0.1:{office.port}",
            "SVC_CONSOLE_MAIL_FROM": "console@corp.example",
            "SSL_CERT_FILE": str(office.certificate),
        }
        with serving(tmp_path, **database, **settings) as base_url, Client(base_url) as client:
            client.sign_in("ann@corp.example", codes())
            http = client.http
            assert http.get("/account/session").json()["permissions"] == ["read", "write", "admin"]

            assert http.get("/tenant/tenants").raise_for_status().json()["data"] == []
            created = http.post("/tenant/tenants", json={"name": "Acme"})
            assert created.status_code == 201
            tenant_id = created.json()["id"]
            assert created.headers["location"].endswith(f"/tenant/tenants/{tenant_id}")
            assert [each["name"] for each in http.get("/tenant/tenants").json()["data"]] == ["Acme"]
            assert http.get(f"/tenant/tenants/{tenant_id}").json()["name"] == "Acme"
            assert http.delete(f"/tenant/tenants/{tenant_id}").status_code == 204
            assert http.get(f"/tenant/tenants/{tenant_id}").status_code == 404

            entries = http.get("/audit/entries", params={"resource": "svc.tenants"}).raise_for_status().json()["data"]
            assert [(each["operation"], each["actorId"]) for each in entries] == [
                ("DELETE", "ann@corp.example"),
                ("INSERT", "ann@corp.example"),
            ]
            session_id = http.get("/account/session").json()["sessionId"]
            assert {each["context"]["session_id"] for each in entries} == {session_id}

            listed = svc_pg("console", "sessions", "--json", folder=tmp_path, variables=database).stdout
            [session] = json.loads(listed)["data"]
            assert (session["sessionId"], session["email"]) == (session_id, "ann@corp.example")
            assert svc_pg("console", "revoke", session_id, "--yes", folder=tmp_path, variables=database).returncode == 0
            over = http.get("/tenant/tenants")
            assert (over.status_code, over.json()["code"]) == (401, "invalid_token")
    assert office.was_encrypted == [True]
