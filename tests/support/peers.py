"""Other implementations of Standard Webhooks, to sign and verify with: in Python, and in JavaScript by node."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Any, Final, Protocol

import standardwebhooks
import svix.webhooks

from tests.support.packages import cannot, node_modules

_JAVASCRIPT: Final = ("standardwebhooks@1.1.1", "svix@1.99.1", "pg@8.16.3")
_PEERS: Final = Path(__file__).with_name("peers.cjs")
_PYTHON: Final = {"standardwebhooks": standardwebhooks.Webhook, "svix": svix.webhooks.Webhook}


class Peer(Protocol):
    """A library for Standard Webhooks."""

    def sign(self, secret: str, *, delivery_id: str, timestamp: int, body: str) -> str:
        """The header webhook-signature."""

    def verifies(self, secret: str, *, headers: Mapping[str, str], body: str) -> bool:
        """True if it accepts the body as authentic now."""


class PythonPeer:
    """A library of Python."""

    def __init__(self, library: str) -> None:
        self._webhook: Any = _PYTHON[library]

    def sign(self, secret: str, *, delivery_id: str, timestamp: int, body: str) -> str:
        return str(self._webhook(secret).sign(delivery_id, datetime.fromtimestamp(timestamp, UTC), body))

    def verifies(self, secret: str, *, headers: Mapping[str, str], body: str) -> bool:
        try:
            self._webhook(secret).verify(body, dict(headers))
        except Exception:  # noqa: BLE001 - it leaks errors of its parsers
            return False
        return True


class JavaScriptPeer:
    """A library of JavaScript, in a process of node."""

    def __init__(self, library: str, process: "subprocess.Popen[str]") -> None:
        self._library = library
        self._process = process

    def sign(self, secret: str, *, delivery_id: str, timestamp: int, body: str) -> str:
        return str(self._ask(secret, sign={"id": delivery_id, "timestamp": timestamp, "body": body}))

    def verifies(self, secret: str, *, headers: Mapping[str, str], body: str) -> bool:
        return bool(self._ask(secret, verify={"headers": headers, "body": body}))

    def _ask(self, secret: str, **question: object) -> object:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"library": self._library, "secret": secret, **question}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def node_run(program: str, question: object) -> Any:
    """The answer of a JavaScript module without libraries, which reads ``question`` and writes JSON.

    Without node the test is skipped, but in CI it fails.
    """
    if which("node") is None:
        cannot("node is not installed")
    command = ["node", "--input-type=module", "--eval", program]
    done = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def node(program: Path = _PEERS) -> Iterator["subprocess.Popen[str]"]:
    """Enter to get a process of the program, with the JavaScript libraries, which npm fetches; leaving ends it.

    Without node, npm or a network the test is skipped, but in CI it fails.
    """
    variables = {**os.environ, "NODE_PATH": str(node_modules(*_JAVASCRIPT))}
    with subprocess.Popen(
        ["node", program], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process  # leaving closes its input, and that ends it
