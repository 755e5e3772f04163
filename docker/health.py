"""The health check of the image: ask the worker or the console in this container."""

import os
import sys
from http.client import HTTPConnection, HTTPException

# an empty variable is as none: no page of the worker, and the console's own port
WORKER = int(os.environ["SVC_WORKER_METRICS_PORT"] or 0), "/healthz"
CONSOLE = int(os.environ["SVC_SERVE_PORT"] or 8000), "/.well-known/svc/console/health"


def is_well(port: int, path: str) -> bool:
    """Tell if the server on that port answers 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if is_well(*WORKER) or is_well(*CONSOLE) else 1)
