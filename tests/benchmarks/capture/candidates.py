"""The candidates: no audit, the limits, svc-pg and other tools. Each has a database of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import psycopg

from svc_pg import Config, schema
from svc_pg.config import AuditConfig, AuditedTable
from tests.benchmarks import installed
from tests.benchmarks.application import ROLE
from tests.benchmarks.capture import peers

NO_AUDIT: Final = "no audit"
BARE: Final = "bare limit"
EQUAL: Final = "equal limit"
BARE_STATEMENT: Final = "bare limit, statement"
SVC: Final = "svc-pg"
SVC_FEWEST: Final = "svc-pg, fewest indexes"
SVC_MORE: Final = "svc-pg, by table and actor"
SVC_LEAVING_OUT: Final = "svc-pg, leaving out"
SVC_STATEMENT: Final = "svc-pg, statement"
POSTGRESQL_AUDIT: Final = "postgresql-audit"
POSTGRESQL_AUDIT_STATEMENT: Final = "postgresql-audit, statement"
PGHISTORY: Final = "django-pghistory"
PGHISTORY_STATEMENT: Final = "django-pghistory, statement"

PEERS: Final = ("postgresql-audit", "django-pghistory")

_SVC_OPTIONS = "-c svc.actor_id=alice"
_PGHISTORY_OPTIONS = "-c pghistory.context_id=6b1d0c2e-6f57-4d0b-9f3e-1d2c3b4a5f60 -c pghistory.context_metadata={}"
_STATUS = {"status": ["active", "closed"]}
_LEFT_OUT = {"ignore": ["updated_at"], "record_when": {"any": [{"before": _STATUS}, {"after": _STATUS}]}}
_LIMITS = Path(__file__).with_name("limits")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate. ``keeps`` names the recorded facts of a change; ``install`` gets the database with the table.

    ``options`` are the clients' settings that name the writer, if it reads that from settings.
    """

    name: str
    keeps: str
    install: Callable[[str], None]
    options: str = ""
    absent: str | None = None


def prepare(candidate: Candidate, conninfo: str) -> None:
    """Create the table, install the candidate's triggers, and grant the application the rights for their writes."""
    _run(conninfo, "account.sql")
    candidate.install(conninfo)
    with psycopg.connect(conninfo) as conn:
        conn.execute(f"grant all on all tables in schema public to {ROLE}")
        conn.execute(f"grant all on all sequences in schema public to {ROLE}")


def candidates() -> list[Candidate]:
    """All candidates, in the order of the report; those that cannot take part have the reason in ``absent``."""
    return [
        Candidate(NO_AUDIT, "nothing", lambda _: None),
        Candidate(
            BARE,
            "both images; number, time; 2 indexes (hand-written)",
            lambda conninfo: _run(conninfo, "bare.sql", "bare_row.sql"),
        ),
        Candidate(
            EQUAL,
            "what svc-pg keeps, in its table; constants instead of anything computed but the images and the key",
            _install_equal_limit,
        ),
        Candidate(
            SVC,
            "both images; key, changed fields, actor, tenant, role, context, transaction; 5 indexes, partitions",
            partial(_install_svc, level="row"),
            _SVC_OPTIONS,
        ),
        Candidate(
            SVC_FEWEST,
            'as svc-pg, with indexes = ["record"]',
            partial(_install_svc, level="row", indexes=["record"]),
            _SVC_OPTIONS,
        ),
        Candidate(
            SVC_MORE,
            'as svc-pg, with indexes = ["record", "severity", "table", "actor"]',
            partial(_install_svc, level="row", indexes=["record", "severity", "table", "actor"]),
            _SVC_OPTIONS,
        ),
        Candidate(
            SVC_LEAVING_OUT,
            "as svc-pg, but for changes of updated_at alone, and rows that are neither active nor closed",
            partial(_install_svc, level="row", rules=_LEFT_OUT),
            _SVC_OPTIONS,
        ),
        Candidate(
            BARE_STATEMENT,
            "as the bare limit, by transition tables",
            lambda conninfo: _run(conninfo, "bare.sql", "bare_statement.sql"),
        ),
        Candidate(
            SVC_STATEMENT,
            "as svc-pg, by transition tables",
            partial(_install_svc, level="statement"),
            _SVC_OPTIONS,
            None if "level" in AuditedTable.model_fields else "this svc-pg has no statement level",
        ),
        *_peers(),
    ]


def _peers() -> list[Candidate]:
    without_sqlalchemy = installed.missing("postgresql-audit", "sqlalchemy", "postgresql_audit")
    without_django = installed.missing("django-pghistory", "django", "pghistory")
    return [
        *(
            Candidate(
                name,
                "the old image, of an UPDATE also the fields that changed; transaction id; no key, no actor; 2 indexes",
                partial(peers.install_postgresql_audit, level=level),
                absent=without_sqlalchemy,
            )
            for name, level in ((POSTGRESQL_AUDIT, "row"), (POSTGRESQL_AUDIT_STATEMENT, "statement"))
        ),
        *(
            Candidate(
                name,
                "one typed image: the new one, of a DELETE the old one; key, label, context; 3 indexes",
                partial(peers.install_pghistory, level=level),
                _PGHISTORY_OPTIONS,
                without_django,
            )
            for name, level in ((PGHISTORY, "row"), (PGHISTORY_STATEMENT, "statement"))
        ),
    ]


def _install_svc(
    conninfo: str, *, level: str, rules: Mapping[str, object] | None = None, indexes: Sequence[str] | None = None
) -> None:
    table = {"name": "public.account"} | ({} if level == "row" else {"level": level}) | dict(rules or {})
    chosen = {} if indexes is None else {"indexes": indexes}
    config = Config(audit=AuditConfig.model_validate(chosen | {"tables": [table]}))
    with psycopg.connect(conninfo) as conn:
        schema.install(conn, config)


def _install_equal_limit(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        schema.install(conn, Config())
        conn.execute(f"grant usage on schema svc to {ROLE}")
        conn.execute(f"grant insert on svc.audit_logs to {ROLE}")
    _run(conninfo, "equal_row.sql")


def _run(conninfo: str, *files: str) -> None:
    with psycopg.connect(conninfo) as conn:
        for file in files:
            conn.execute((_LIMITS / file).read_bytes())
