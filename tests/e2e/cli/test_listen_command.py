import json
import re
import signal
import socket
import time
from pathlib import Path

import pytest

from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret, new_signing_key, public_key
from tests.support.commands import svc_pg
from tests.support.listening import listening

SECRET, OLD = new_secret(), new_secret()
BODY = b'{"id":"m","type":"order.created","timestamp":"2026-01-31T12:00:00Z","data":{"n": 12345678901234567.10}}'


def signed(secret: str = SECRET, body: bytes = BODY) -> dict[str, str]:
    return sign(delivery_id="d", timestamp=int(time.time()), body=body, secrets=[secret])


def test_what_arrives_is_verified_and_printed_as_json_a_line_at_a_time(tmp_path: Path) -> None:
    with listening(tmp_path, "--json", "--secret", SECRET, "--secret", OLD) as listener:
        assert listener.post(BODY, headers=signed()) == 204
        first = listener.line()
        assert first.pop("receivedAt").endswith("Z")
        assert first == {
            "deliveryId": "d",
            "event": "order.created",
            "isVerified": True,
            "reason": None,
            "status": 204,
            "body": json.loads(BODY),
        }
        assert listener.post(BODY, headers=signed(OLD)) == 204
        assert listener.line()["isVerified"] is True
        assert listener.post(BODY, headers=signed(new_secret())) == 401
        third = listener.line()
        assert (third["isVerified"], third["status"], third["reason"]) == (False, 401, "no signature matches")
        assert listener.post(b"\xff\n", headers={"X-Webhook-ID": "\x1b"}) == 401
        fourth = listener.line()
        assert (fourth["deliveryId"], fourth["event"], fourth["body"]) == ("\x1b", "", "\ufffd\n")
        assert listener.end() == (0, "")
        assert listener.words.count("\n") == 1


def test_numbers_are_printed_as_they_came(tmp_path: Path) -> None:
    with listening(tmp_path, "--json", "--secret", SECRET) as listener:
        listener.post(BODY, headers=signed())
        assert '"n":12345678901234567.10}' in listener.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_secret_nothing_is_verified_and_the_next_step_is_named(
    tmp_path: Path, number: signal.Signals
) -> None:
    with listening(tmp_path, "--json", SVC_WEBHOOK_SECRET="") as listener:
        assert listener.post(BODY) == 204
        assert listener.line()["isVerified"] is None
        assert listener.end(number) == (0, "")
    assert "nothing is verified" in listener.words
    assert f"svc-pg webhooks add --url {listener.url} --event '*'" in listener.words


def test_secrets_come_from_the_environment_too_and_the_status_is_chosen(tmp_path: Path) -> None:
    pair = new_signing_key()
    known = f"{SECRET} {OLD} {public_key(pair)}"
    with listening(tmp_path, "--status", "500", SVC_WEBHOOK_SECRET=known) as listener:
        assert [listener.post(BODY, headers=signed(secret)) for secret in (SECRET, OLD, pair, new_secret())] == [
            500,
            500,
            500,
            401,
        ]
        assert listener.client.get("/").status_code == 405
        assert listener.post(b"x" * (1024 * 1024 + 1)) == 413
        code, shown = listener.end()
    assert (code, listener.words.count("\n")) == (0, 1)
    *good, refused = re.findall(r"^\d\d:\d\d:\d\d  (.*)$", shown, re.MULTILINE)
    assert good == ["order.created  d  verified"] * 3
    assert refused == "order.created  d  refused: no signature matches"
    assert '  "data": {\n    "n": 12345678901234567.10\n  }\n}\n' in shown


def test_what_arrives_cannot_steer_a_terminal(tmp_path: Path) -> None:
    with listening(tmp_path) as listener:
        hostile = '{"type": "\\u001b[2J[red]", "\u202e": "\x7f"}'.encode()
        listener.post(hostile, headers={b"webhook-id": b"[bold]\x9b"})
        listener.post(b"\x1b[2J\r\n[red]" + b"x" * 5000)
        _, shown = listener.end()
    assert shown.replace("\n", "").isprintable()
    assert "\\u001b[2J[red]  [bold]\\u009b  not verified\n" in shown
    assert '{\n  "type": "\\u001b[2J[red]",\n  "\\u202e": "\\u007f"\n}\n' in shown
    assert "\\u001b[2J\\r\\n[red]xxx" in shown
    assert shown.endswith("x…\n")
    assert len(shown) < 3000


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_ends_it(tmp_path: Path, options: list[str]) -> None:
    with listening(tmp_path, *options) as listener:
        listener.stdout.close()
        assert listener.post(BODY) == 204
        assert listener.process.wait(timeout=20) == 0
    assert "Traceback" not in listener.words


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = svc_pg("listen", "--port", str(port), folder=tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"error: port {port} of 127.0.0.1 is taken\nhint: --port 0 takes one that is free.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--host", "203.0.113.1"], 1, "error: cannot listen on 203.0.113.1, port 8080: Cannot assign"),
        (
            ["--secret", "whsec_?"],
            1,
            "error: a secret is not whsec_ and base64, nor a public key whpk_ and base64\nhint:",
        ),
        (["--status", "100"], 2, "--status"),
        (["--port", "65536"], 2, "--port"),
    ],
)
def test_wrong_options_are_said(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    result = svc_pg("listen", *arguments, folder=tmp_path)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
