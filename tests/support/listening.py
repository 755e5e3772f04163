"""Run ``svc-pg listen`` as a user does."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.commands import Process, running
from tests.support.waiting import wait_until


class Listener:
    """A running ``svc-pg listen``, and a client that keeps its connection open."""

    def __init__(self, process: Process, words: Path) -> None:
        assert process.stdout
        self.process = process
        self.stdout = process.stdout
        self._words = words
        [url] = wait_until(lambda: re.findall(r"^Listening on (\S+) until Ctrl-C\.$", self.words, re.MULTILINE))
        self.url = str(url)
        self.client = httpx.Client(base_url=self.url)

    @property
    def words(self) -> str:
        """Its output so far."""
        return self._words.read_text()

    def post(self, content: bytes, **options: Any) -> int:
        """The status that answers a POST."""
        return self.client.post("/any/path", content=content, **options).status_code

    def line(self) -> dict[str, Any]:
        """The output of --json for the next webhook. Waits for it."""
        found: dict[str, Any] = json.loads(self.stdout.readline())
        return found

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """End it, and return the exit code and the rest of its output."""
        self.process.send_signal(number)
        return self.process.wait(timeout=20), self.stdout.read()


@contextmanager
def listening(folder: Path, *arguments: str, port: int = 0, **variables: str) -> Iterator[Listener]:
    """Enter to run it in that folder, on a free port or this one; leaving kills it."""
    words = folder / "words"
    with (
        words.open("w") as stderr,
        running(
            *("listen", "--port", str(port), *arguments),
            folder=folder,
            variables=variables,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        listener = Listener(process, words)
        with listener.client:
            yield listener
