"""The application name of each program's sessions, unless their conninfo sets another."""

import os
import socket
from typing import Final

CONSOLE: Final = "svc-pg console"
WORKER: Final = "svc-pg worker"
_LONGEST_HOST: Final = 40  # with it and the process id the name fits into PostgreSQL's 63 bytes


def worker_name() -> str:
    """The worker of this process, by its machine and its process id: ``db-jobs-7f9c:4711``."""
    host = socket.gethostname().partition(".")[0]
    return f"{host[-_LONGEST_HOST:]}:{os.getpid()}"  # of a pod's name, the end tells it from others


def of_worker() -> str:
    """The name that all connections of this process's worker share, so that they count as one worker."""
    return f"{WORKER} {worker_name()}"
