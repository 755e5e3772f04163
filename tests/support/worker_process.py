"""A worker in a process of its own, for tests that kill it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from svc_pg import Config
from tests.support.hooks import KEYS_TEXT

_PROGRAM = """
import resource, sys
import uvloop  # as the command line does
from svc_pg import Config
from svc_pg.webhooks.secrets import KeyRing
from svc_pg.webhooks import Worker
conninfo, config, keys, concurrency, files = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
worker = Worker(
    conninfo, keys=KeyRing.parse(keys), config=Config.model_validate_json(config), concurrency=int(concurrency)
)
uvloop.run(worker.run())
"""

Process = subprocess.Popen[bytes]


@contextmanager
def worker_process(
    conninfo: str,
    config: Config,
    *,
    concurrency: int = 50,
    files: int = 1024,
    environment: Mapping[str, str] = {},
) -> Iterator[Process]:
    """Enter to start it, with additions to its environment and a limit of files; leaving kills it with SIGKILL."""
    arguments = [conninfo, config.model_dump_json(by_alias=True), KEYS_TEXT, str(concurrency), str(files)]
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments], stderr=subprocess.DEVNULL, env=os.environ | environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
