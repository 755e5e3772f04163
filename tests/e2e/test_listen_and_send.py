"""The first webhook of a newcomer, in an empty folder, with nothing but the command line."""

import json
import shlex
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import PROGRAM, environment, svc_pg
from tests.support.listening import listening
from tests.support.waiting import wait_until

CONFIG = """
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
retry = ["1s", "1s", "1s", "1s", "1s", "1s", "1s", "1s"]

[webhooks.events."order.created"]
description = "An order was placed"
"""


@pytest.fixture
def variables(empty_database: str, tmp_path: Path) -> dict[str, str]:
    """The newcomer's variables: the database, and a key that was just made."""
    made = svc_pg("keys", "new", "encryption", folder=tmp_path)
    name, _, value = made.stdout.strip().partition("=")
    return {"DATABASE_URL": empty_database, name: value}


def test_a_webhook_is_sent_refused_by_a_receiver_that_is_broken_and_verified_by_the_next(
    variables: dict[str, str], tmp_path: Path
) -> None:
    def run(*arguments: str) -> str:
        result = svc_pg(*arguments, folder=tmp_path, variables=variables)
        assert result.returncode == 0, result.stderr
        return result.stdout

    (tmp_path / "svc-pg.toml").write_text(CONFIG)
    run("install")
    worker = subprocess.Popen([PROGRAM, "worker"], cwd=tmp_path, env=environment(**variables), stderr=subprocess.PIPE)
    try:
        with listening(tmp_path, "--json", "--status", "500") as listener:
            [register] = wait_until(lambda: [line for line in listener.words.splitlines() if "webhooks add" in line])
            name, *arguments = shlex.split(register)
            assert name == "svc-pg"
            secret = json.loads(run(*arguments, "--json"))["secret"]
            message = run("send", "order.created", '{"n": 12345678901234567.10}').strip()
            first = listener.line()
            assert (first["isVerified"], first["status"]) == (None, 500)
            code, _ = listener.end()
            assert code == 0
        port = urlsplit(listener.url).port or 0
        with listening(tmp_path, "--json", port=port, SVC_WEBHOOK_SECRET=secret) as listener:
            exact = listener.stdout.readline()
            second = json.loads(exact)
            assert (second["isVerified"], second["status"]) == (True, 204)
            assert '"data":{"n":12345678901234567.10}' in exact
            for same in ("deliveryId", "event", "body"):
                assert second[same] == first[same]
            assert second["body"]["id"] == message
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(timeout=30) == 0
            assert listener.end() == (0, "")
    finally:
        worker.kill()
        worker.communicate()
