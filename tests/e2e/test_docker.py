"""docker/: the image and docker compose, as a newcomer starts them. Needs a daemon, and is asked for by a variable."""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.support.waiting import wait_until

FOLDER: Final = Path(__file__).parents[2] / "docker"
BASE_VARIABLE: Final = "SVC_TEST_PYTHON_IMAGE"
OPTIONAL: Final = {"POSTGRES_IMAGE": "SVC_TEST_POSTGRES_IMAGE", "MAIL_IMAGE": "SVC_TEST_MAIL_IMAGE"}
LIMIT: Final = timedelta(minutes=2)
SERVICES: Final = {"secrets": 1, "postgres": 1, "install": 1, "worker": 2, "serve": 1, "mail": 1}
PROJECT_LABEL: Final = "com.docker.compose.project"
LONGEST_TIMEOUT: Final = 60
"""Seconds that an endpoint may let a POST take."""
PYTHON: Final = ("--entrypoint", "python3")
HOLDING: Final = """
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        print("arrived", flush=True)
        open("/tmp/release").read()
        self.send_response(204)
        self.end_headers()

os.mkfifo("/tmp/release")
server = HTTPServer(("0.0.0.0", 8080), Receiver)
print("listening", flush=True)
server.serve_forever()
"""
"""A receiver that answers as soon as somebody writes to its pipe."""

pytestmark = [
    pytest.mark.timeout(1200),  # it may pull images, and builds one
    pytest.mark.skipif(not os.environ.get(BASE_VARIABLE), reason=f"set {BASE_VARIABLE}=python:3.13-slim to run it"),
]


class Stack:
    """The services that ``docker compose up`` started, as a project of its own."""

    def __init__(self, project: str) -> None:
        from testcontainers.compose import DockerCompose  # slow to import, and seldom needed
        from testcontainers.core.docker_client import DockerClient

        self.project = project
        self.compose = DockerCompose(FOLDER, compose_file_name="compose.yaml", wait=False)
        self.docker = DockerClient().client

    def command(self, *words: str) -> list[str]:
        return [*self.compose.docker_compose_command(), *words]

    def run(self, *words: str) -> str:
        done = subprocess.run(self.command(*words), cwd=FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def svc_pg(self, *words: str) -> Any:
        return json.loads(self.run("exec", "-T", "serve", "svc-pg", *words, "--json"))

    def containers(self, service: str) -> list[Any]:
        labels = [f"{PROJECT_LABEL}={self.project}", f"com.docker.compose.service={service}"]
        found = self.docker.containers.list(all=True, filters={"label": labels})
        return [each for each in found if each.labels["com.docker.compose.oneoff"] == "False"]

    def exit_codes(self, service: str) -> list[int]:
        states = [each.attrs["State"] for each in self.containers(service)]
        return [state["ExitCode"] for state in states if state["Status"] == "exited"]

    def url(self, service: str, port: int) -> str:
        return f"http://127.0.0.1:{self.compose.get_service_port(service, port)}"

    @contextmanager
    def receiver(self, name: str, *options: str, command: list[str], first_words: str) -> Iterator[Any]:
        """Run one more container of the image, which the others reach by its name; leaving removes it."""
        self.run("run", "--detach", "--no-deps", "--name", name, *options, "serve", *command)
        container = self.docker.containers.get(name)
        try:
            wait_until(lambda: first_words in container.logs().decode(), f"it says {first_words}")
            yield container
        finally:
            container.remove(force=True)

    def send(self, payload: str) -> str:
        """Send an event as any client of the database does, and give the message's id."""
        statement = f"select svc.send('order.created', '{payload}')"
        query = ["psql", "--username=svc", "--tuples-only", "--no-align", f"--command={statement}"]
        return self.run("exec", "-T", "postgres", *query).strip()


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """The whole of compose.yaml, each service where it should be; leaving removes containers, volumes and the image."""
    for needed in (["docker", "info"], ["docker", "compose", "version"]):
        if shutil.which("docker") is None or subprocess.run(needed, capture_output=True, check=False).returncode != 0:
            pytest.skip(f"{' '.join(needed)} fails: there is no Docker daemon, or no compose")
    project = f"svc-pg-test-{secrets.token_hex(4)}"
    variables = {
        "COMPOSE_PROJECT_NAME": project,
        "SVC_PG_IMAGE": project,
        "PYTHON_IMAGE": os.environ[BASE_VARIABLE],
        "CONSOLE_PORT": "0",
        "MAIL_PORT": "0",
    }
    variables |= {name: os.environ[ours] for name, ours in OPTIONAL.items() if os.environ.get(ours)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        stack = Stack(project)
        try:
            with stack.compose:
                for service in ("worker", "serve", "postgres"):
                    wait_until(partial(_is_healthy, stack, service), f"{service} is healthy", limit=LIMIT)
                yield stack
        finally:
            subprocess.run(["docker", "image", "rm", "--force", project], capture_output=True, check=False)
            stack.docker.close()


def _is_healthy(stack: Stack, service: str) -> bool:
    healths = [each.attrs["State"]["Health"]["Status"] for each in stack.containers(service)]
    assert "unhealthy" not in healths
    return healths == ["healthy"] * SERVICES[service]


def test_one_command_starts_everything(stack: Stack) -> None:
    assert {service: len(stack.containers(service)) for service in SERVICES} == SERVICES
    assert stack.exit_codes("secrets") == stack.exit_codes("install") == [0]
    assert httpx.get(stack.url("serve", 8000) + "/.well-known/svc/console/health").json() == {"status": "ok"}


def test_an_event_of_the_database_arrives_verified_in_another_container(stack: Stack) -> None:
    name = f"{stack.project}-listen"
    added = stack.svc_pg("webhooks", "add", "--url", f"http://{name}:8080/", "--event", "order.*")
    listen = ["listen", "--host", "0.0.0.0", "--json"]
    variable = f"SVC_WEBHOOK_SECRET={added['secret']}"
    with stack.receiver(name, "--env", variable, command=listen, first_words="Listening on") as receiver:
        message = stack.send('{"id": 7}')
        line = wait_until(lambda: receiver.logs(stderr=False).decode(), "the webhook arrives", limit=LIMIT)
    arrived = json.loads(line)
    assert (arrived["event"], arrived["isVerified"], arrived["status"]) == ("order.created", True, 204)
    assert (arrived["body"]["id"], arrived["body"]["data"]) == (message, {"id": 7})
    stack.run("exec", "-T", "serve", "svc-pg", "webhooks", "delete", added["id"])


def test_somebody_signs_in_with_the_code_that_the_mail_catcher_shows(stack: Stack) -> None:
    def code() -> str | None:
        [mail] = httpx.get(stack.url("mail", 8025) + "/api/v1/messages").json()["messages"] or [{"Snippet": ""}]
        found = re.search(r"\b[A-Z2-9]{3}-[A-Z2-9]{3}\b", mail["Snippet"])
        return found and found[0]

    with httpx.Client(base_url=stack.url("serve", 8000) + "/.well-known/svc", timeout=20) as http:

        def post(route: str, **body: str) -> Any:
            return http.post(f"/console/session/{route}", json=body).raise_for_status().json()

        begun = post("init", email="ann@corp.example")
        session = begun["sessionId"]
        http.headers["authorization"] = f"Bearer {begun['deviceToken']}"
        assert post("verify", sessionId=session, code=wait_until(code, "the mail arrives"))["status"] == "verified"
        http.headers["authorization"] = f"Bearer {post('claim', sessionId=session)['sessionToken']}"
        assert http.get("/account/session").json()["permissions"] == ["read", "write", "admin"]


def test_another_start_keeps_the_secrets_and_they_are_in_no_image_and_no_environment(stack: Stack) -> None:
    def files() -> dict[str, str]:
        listed = stack.run("exec", "-T", "serve", "sh", "-c", "cd /run/svc-pg && grep -H . *").splitlines()
        return dict(line.split(":", 1) for line in listed)

    before = files()
    assert set(before) == {
        "database_url",
        "postgres_password",
        "svc_console_connection_token_hash",
        "svc_encryption_keys",
    }
    stack.run("up", "--detach", "--force-recreate", "--no-build", "secrets", "install")
    wait_until(lambda: stack.exit_codes("secrets") == stack.exit_codes("install") == [0], "both ended", limit=LIMIT)
    assert files() == before
    image = stack.docker.images.get(stack.project)
    told = json.dumps(
        [image.attrs, image.history(), *(each.attrs for name in SERVICES for each in stack.containers(name))]
    )
    assert [name for name, value in before.items() if value in told] == []


@pytest.mark.parametrize("service", ["worker", "serve"])
def test_nothing_can_be_gained_or_written_in_a_container(stack: Stack, service: str) -> None:
    for container in stack.containers(service):
        status = container.exec_run(["cat", "/proc/1/status"]).output.decode()
        assert re.search(r"^Uid:\t10001\t10001\t10001\t10001$", status, re.MULTILINE)
        assert re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
        for path in ("/var/tmp/new", "/run/svc-pg/new"):  # its own, or everybody's, but for how they are mounted
            assert container.exec_run(["touch", path]).exit_code != 0
        host = container.attrs["HostConfig"]
        assert min(host["Memory"], host["NanoCpus"], host["PidsLimit"]) > 0


def test_stopped_workers_let_the_post_under_way_end(stack: Stack) -> None:
    workers = stack.containers("worker")
    assert [each.attrs["Config"]["StopTimeout"] > LONGEST_TIMEOUT for each in workers] == [True, True]
    name = f"{stack.project}-holding"
    with stack.receiver(name, *PYTHON, command=["-c", HOLDING], first_words="listening") as receiver:
        added = stack.svc_pg("webhooks", "add", "--url", f"http://{name}:8080/", "--event", "order.*")
        stack.send('{"id": 8}')
        wait_until(lambda: "arrived" in receiver.logs().decode(), "the POST is under way", limit=LIMIT)
        with subprocess.Popen(stack.command("stop", "worker"), cwd=FOLDER, stderr=subprocess.DEVNULL) as stopping:
            wait_until(lambda: len(stack.exit_codes("worker")) == 1, "the idle worker has ended")
            assert stopping.poll() is None
            assert receiver.exec_run(["sh", "-c", "echo >/tmp/release"]).exit_code == 0
            assert stopping.wait(timeout=60) == 0
    assert stack.exit_codes("worker") == [0, 0]
    [delivery] = stack.svc_pg("webhooks", "deliveries", "--endpoint", added["id"])
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 1)


def test_a_container_in_which_nothing_answers_is_unhealthy(stack: Stack) -> None:
    check = ["python3", "/opt/svc-pg/health.py"]
    [serve] = stack.containers("serve")
    assert serve.exec_run(check).exit_code == 0
    name = f"{stack.project}-idle"
    with stack.receiver(name, *PYTHON, command=["-c", HOLDING], first_words="listening") as idle:
        assert idle.exec_run(check).exit_code == 1
