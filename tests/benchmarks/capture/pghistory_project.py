"""A Django project in one process: ``python -m tests.benchmarks.capture.pghistory_project row|statement``.

Installs the history of django-pghistory, as its own tooling makes it, into the database of SVC_BENCHMARK_CONNINFO.
"""

import os
import sys

import django
import pgtrigger
import pgtrigger.installation
from django.conf import settings
from django.core.management import call_command
from psycopg.conninfo import conninfo_to_dict

from tests.benchmarks.capture.peers import CONNINFO_VARIABLE


def main() -> None:
    """Configure, migrate, install the triggers."""
    parameters = conninfo_to_dict(os.environ[CONNINFO_VARIABLE])
    name = parameters.pop("dbname")
    settings.configure(
        INSTALLED_APPS=["pgtrigger", "pghistory", "tests.benchmarks.capture.shop"],
        DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": name, "OPTIONS": parameters}},
        PGHISTORY_LEVEL={"row": pgtrigger.Row, "statement": pgtrigger.Statement}[sys.argv[1]],
        USE_TZ=True,
    )
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    pgtrigger.installation.install()


if __name__ == "__main__":
    main()
