"""Receivers of webhooks, each a process of its own: nginx for speed, ours to count."""

import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, Literal

from tests.support.ports import free_port
from tests.support.waiting import wait_until

_NGINX: Final = """
daemon off;
master_process off;
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{ return 204; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """The arrivals: POSTs, deliveries by id, repeated ones, and the delays since sending.

    ``refused`` POSTs were answered 500, and are counted nowhere else but in ``posts``. ``backwards`` are the deliveries
    that first arrived after a later one of their key. ``busiest_second`` are the POSTs of the busiest second, wherever
    it begins; ``seconds`` is the time from the first POST to the last.
    """

    posts: int
    deliveries: int
    repeated: int
    delays_ms: list[float]
    backwards: int
    refused: int
    busiest_second: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Receiver:
    """Ours. ``{url}/ok`` answers 204 at once, ``{url}/slow`` after 100 ms, ``{url}/hang`` never.

    ``{url}/flaky`` answers 500 to every fifth POST or so, ``{url}/outage`` to all of them while it is down.
    """

    url: str
    process: "subprocess.Popen[str]"

    def counts(self) -> Counts:
        """The arrivals since the start, and the delays since the last call."""
        return Counts(**json.loads(_ask(self.process, "counts")))

    def turn(self, state: Literal["up", "down"]) -> None:
        """Let ``{url}/outage`` refuse from now on, or take again."""
        _ask(self.process, state)


@contextmanager
def fast() -> Iterator[tuple[str, str]]:
    """The URL and the name of the fastest available receiver, which answers 204 and counts nothing."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin") or shutil.which("nginx")
    if program is None:
        with counting() as receiver:
            yield f"{receiver.url}/ok", "a Python receiver"
        return
    with TemporaryDirectory(prefix="svc-pg-nginx-") as folder:
        port = free_port()
        Path(folder, "nginx.conf").write_text(_NGINX.format(port=port))
        process = subprocess.Popen(
            [program, "-p", folder, "-e", "stderr", "-c", "nginx.conf"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            wait_until(lambda: _accepts(process, port), "nginx accepts connections")
            yield f"http://127.0.0.1:{port}/", "nginx"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


@contextmanager
def counting() -> Iterator[Receiver]:
    """Run ours until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.delivery.receiver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        port = json.loads(_ask(process, "port"))
        yield Receiver(f"http://127.0.0.1:{port}", process)
    finally:
        _pipe(process.stdin).close()  # which it takes as the end
        process.wait(timeout=timedelta(seconds=10).total_seconds())
        _pipe(process.stdout).close()


def _ask(process: "subprocess.Popen[str]", question: str) -> str:
    asked = _pipe(process.stdin)
    asked.write(f"{question}\n")
    asked.flush()
    answer: str = _pipe(process.stdout).readline()
    if not answer:
        raise RuntimeError("the receiver has ended")
    return answer


def _pipe(pipe: IO[Any] | None) -> IO[Any]:
    assert pipe is not None
    return pipe


def _accepts(process: "subprocess.Popen[bytes]", port: int) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"nginx did not start; exit code {process.returncode}")
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
