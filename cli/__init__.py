"""The command line ``svc-pg``: one command is parse, one library call, print."""

import sys

import psycopg

from svc_pg.errors import SvcError, translate

from . import audit, console, demo, keys, listen, migrate, output, schema, send, webhooks, worker
from .app import app as _app

for _commands in (schema, migrate, audit, webhooks, worker, send, listen, console, keys, demo):
    _commands.add_to(_app)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 looked, and it is not as it should be."""
    sys.path.insert(0, "")  # --config shop:config means the shop of the working folder
    try:
        _app()
    except (SvcError, psycopg.Error) as error:
        if output.debug:
            raise
        output.fail(error if isinstance(error, SvcError) else translate(error) or error)
        sys.exit(1)
