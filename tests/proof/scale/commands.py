"""Commands of the command line: the peak of their memory, and the pages that they touch."""

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

import psycopg

from svc_pg.database.query import scalar
from svc_pg.webhooks.endpoints.endpoint_stats import MOST_DELIVERIES
from tests.benchmarks.bounds import MOST
from tests.proof.scale.making import KEY
from tests.proof.scale.measuring import Checked, run
from tests.proof.scale.stage import Stage
from tests.support.long_log import BULK, HOT

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PAGES: Final = 2 * MOST
"""The most pages of a list, to which a new connection adds those of the catalog."""
_MEMORY: Final = 128
"""The most MiB of a command: those of Python with its modules, and what it holds of its answer."""
_OF_A_TABLE: Final = 1 / 32
"""The most MiB beside these for each audited table."""
_PAGES_OF_A_TABLE: Final = 500
_PAGES_OF_A_ROW: Final = 20
_PAGES_OF_A_DELIVERY: Final = 4
"""The attempts of the newest deliveries of an endpoint are looked at, with an index page or three for each."""
_PAGES_OF_A_LABEL: Final = 20 * 20_000 / 10
"""A page for 10 entries: one of 20,000 has the label, and the command looks at all of them until it has found 20."""
_PARQUET: Final = 32
"""The MiB of PyArrow's libraries, which a Parquet file needs before its first entry."""
_VERIFYING: Final = 45.0  # seconds
_PURGED: Final = 10_000
_OLD: Final[LiteralString] = """
insert into svc.audit_logs ("timestamp", table_name, table_oid, operation, record_id, after_data)
select now() - interval '40 months' + n * interval '1 s', 'public.old', 0, 'INSERT', n::text, '{}'
  from generate_series(1, %s) n
"""
_OF_THE_DAY: Final[LiteralString] = """
select count(*) from svc.audit_logs where "timestamp" >= now() - interval '101 d'
   and "timestamp" < now() - interval '100 d'
"""
_BUSY: Final[LiteralString] = "select id::text from svc.webhook_endpoints where description = 'Partner 1'"


@dataclass(frozen=True, slots=True)
class _Command:
    """A command, and its bounds; ``longest`` are the seconds after which it is ended."""

    arguments: Sequence[str]
    pages: float = _PAGES
    mebibytes: float = _MEMORY
    longest: float | None = None
    codes: Sequence[int] = (0,)

    @property
    def name(self) -> str:
        words = [_UUID.sub("ENDPOINT", each) for each in self.arguments]
        return f"`svc-pg {' '.join(words)}`" + (f", for {self.longest:.0f} s" if self.longest else "")


def commands(stage: Stage) -> Iterator[Checked]:
    """Each command, as a process of its own."""
    _write_old_entries(stage)
    secrets = {
        "DATABASE_URL": stage.conninfo,
        "SVC_SEAL_KEY": f"{KEY.key_id}:{base64.b64encode(KEY.seed).decode()}",
    }
    for command in _listed(stage):
        before = stage.counter.settled()
        ran = run(command.arguments, stage.folder, secrets, longest=command.longest)
        pages = stage.counter.settled() - before
        milliseconds = ran.seconds * 1000
        if ran.code not in command.codes and command.longest is None:
            yield Checked(command.name, "exit code", ran.code, 0, milliseconds, ran.errors[-500:])
            continue
        yield Checked(command.name, "MiB", ran.mebibytes, command.mebibytes, milliseconds)
        if command.longest is None:
            yield Checked(command.name, "pages", pages, command.pages, milliseconds)


def _write_old_entries(stage: Stage) -> None:
    """Write the entries of a partition of its own, which a command seals and another one purges."""
    with psycopg.connect(stage.conninfo, autocommit=True) as conn:
        conn.execute(_OLD, [_PURGED])
        conn.execute("select svc.audit_ensure_partitions()")
        # as autovacuum does, which is off: or each run leaves more that is dead, and lists walk over it
        conn.execute("vacuum svc.audit_logs_default")


def _listed(stage: Stage) -> Iterator[_Command]:
    tables, rows = stage.sizes.tables, stage.sizes.rows
    with psycopg.connect(stage.conninfo) as conn:
        busy: str = scalar(conn, _BUSY)
        entries: int = scalar(conn, _OF_THE_DAY)
    for name in ("install", "plan", "status"):
        yield _Command([name], _PAGES + _PAGES_OF_A_TABLE * tables, _MEMORY + _OF_A_TABLE * tables)
    yield _Command(["seal"], _PAGES + _PAGES_OF_A_ROW * _PURGED)
    yield _Command(["purge", "--older-than", "1095d"])
    yield _Command(["reconcile", "--table", "public.account"], _PAGES + _PAGES_OF_A_ROW * rows)
    day = ["export", "--since", "101d", "--until", "100d"]
    yield _Command([*day, "--format", "ndjson"], _PAGES + _PAGES_OF_A_ROW * entries)
    yield _Command([*day, "--format", "parquet"], _PAGES + _PAGES_OF_A_ROW * entries, _MEMORY + _PARQUET)
    yield _Command(["verify"], longest=_VERIFYING)
    yield _Command(["log"])
    yield _Command(["log", "--label", "rare"], _PAGES + _PAGES_OF_A_LABEL)
    yield _Command(["history", "t", HOT])
    yield _Command(["as-of", "200d", "t"])
    yield _Command(["blame", "t", HOT])
    yield _Command(["related", "t", HOT])
    yield _Command(["diff", "--transaction", str(BULK)])
    yield _Command(["webhooks", "health"], codes=(3,))  # deliveries wait, and no worker runs
    for words in (["list"], ["deliveries"], ["messages"], ["traffic"]):
        yield _Command(["webhooks", *words])
    yield _Command(["webhooks", "show", busy], _PAGES + _PAGES_OF_A_DELIVERY * MOST_DELIVERIES)
    yield _Command(["webhooks", "deliveries", "--endpoint", busy, "--status", "failed"])
