"""The names by which a database's sessions tell which program has them, unless their conninfo gives another."""

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
    """The name of all connections of this process's worker, so that they count as one."""
    return f"{WORKER} {worker_name()}"
