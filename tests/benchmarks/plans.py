"""Write the plans of the reads of a long log, with the pages that each step touches, as a page of the documentation.

    python -m tests.benchmarks.plans --postgres /usr/lib/postgresql/15/bin >docs/internals/plans.md

Needs a server with the module auto_explain, which also tells the statements inside of functions. The log is that of
``bounds``, never analyzed, as after a restore. Of a statement that runs several times, the plan is that of the run
which touched the most pages.
"""

import asyncio
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg import AsyncConnection

from tests.benchmarks import command
from tests.benchmarks.bounds import Read, lists, others
from tests.support.long_log import fill, know
from tests.support.postgres import DURABLE, new_database, server

_ENTRIES: Final = 200_000
_OF_LISTS: Final = (
    "no filter",
    "resource: most entries",
    "resource: rare",
    "record: three of ten",
    "actor: rare",
    "label: rare",
    "severity: rare",
    "since: 100 days",
    "transactions: half a million entries",
)
_SETTINGS: Final = """
load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set auto_explain.log_timing = off;
set client_min_messages = log
"""
_HEAD: Final = """\
# Plans of the reads of the log

The statements of each read with their plans, of a log of {entries:,} entries over 14 months on PostgreSQL {version},
which was never analyzed: three of ten entries are of one record, one of ten of one transaction, and one of 20,000 has
what is called rare. `Buffers` are pages of 8 KiB, also those of the steps below. Left out are steps that did not run,
partitions of the log but the first, and statements of less than a twentieth of a read's pages.

`python -m tests.benchmarks.plans` writes this page, and [limits](../explanation/limits.md) says what bounds each read.
"""
_COST: Final = re.compile(r" +\(cost=\S+ rows=\d+ width=\d+\)")
_BUFFERS: Final = re.compile(r"Buffers: shared (.*)")
_PARTITION: Final = re.compile(r"audit_logs_(?:\d{4}_\d\d|default)")
_INDEX: Final = re.compile(r" using audit_logs_YYYY_MM_(\w+?)_(?:idx\d*|key)\b")
_END: Final = "select 'the end'"
_LEAST: Final = 0.05
"""The part of a read's pages below which a statement is left out."""
_LONGEST: Final = 400
_WIDTH: Final = 100


def main() -> int:
    """Run the command line; returns the exit code."""
    parser = command.parser("plans", __doc__)
    options = parser.parse_args()
    settings = (*DURABLE, "--fsync=off", "--autovacuum=off")
    with (
        server(options.postgres, settings=settings) as maintenance,
        new_database(maintenance) as conninfo,
        psycopg.connect(conninfo, autocommit=True) as conn,
    ):
        fill(conn, _ENTRIES, days=425)
        know(conn, "never analyzed")
        reads = {name: read for name, read in lists().items() if name in _OF_LISTS} | others()
        version = conn.info.server_version // 10_000
        parts = asyncio.run(_explained(conninfo, reads))
    sys.stdout.write("\n".join([_HEAD.format(entries=_ENTRIES, version=version), *parts]))
    return 0


async def _explained(conninfo: str, reads: Mapping[str, Read]) -> list[str]:
    messages: list[str] = []
    parts: list[str] = []
    async with await AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None) as conn:
        conn.add_notice_handler(lambda message: messages.append(message.message_primary or ""))
        for name, read in reads.items():
            async with conn.transaction(force_rollback=True):
                await read(conn)  # which fills caches
                await conn.execute(_SETTINGS)
                messages.clear()
                await read(conn)
                await conn.execute(_END)  # until then the last statement has not ended
                found = [each for each in messages if "Query Text: " in each]
            parts.append(_part(name, found))
    return parts


def _part(name: str, messages: list[str]) -> str:
    """A section of the page."""
    runs: Counter[str] = Counter()
    plans: dict[str, tuple[int, str]] = {}
    for message in messages:
        text, plan = _parsed(message)
        runs[text] += 1
        pages = _pages(plan)
        if text not in plans or pages > plans[text][0]:
            plans[text] = pages, plan
    total = max(pages for pages, _ in plans.values())
    lines = [f"## {name[0].upper()}{name[1:]}".replace("`", ""), ""]
    for text, (pages, plan) in plans.items():
        if pages >= _LEAST * total and "->" in plan and "pg_index" not in text:
            times = f"-- {runs[text]} times\n" if runs[text] > 1 else ""
            lines += ["```text", f"{times}{_short(text)}", "```", "```text", *_steps(plan), "```", ""]
    return "\n".join(lines)


def _parsed(message: str) -> tuple[str, str]:
    _, _, rest = message.partition("Query Text: ")
    lines = rest.splitlines()
    start = next(number for number, line in enumerate(lines) if "(cost=" in line)
    return "\n".join(lines[:start]), "\n".join(lines[start:])


def _pages(plan: str) -> int:
    found = _BUFFERS.search(plan)
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", found[1]))) if found else 0


def _short(text: str) -> str:
    words = " ".join(line for line in text.split("\n") if not line.strip().startswith("--"))
    words = " ".join(words.split())
    return textwrap.fill(words if len(words) <= _LONGEST else f"{words[:_LONGEST]} ...", _WIDTH)


def _steps(plan: str) -> list[str]:
    """The lines of a plan without costs, without steps that did not run, and with one partition."""
    kept: list[str] = []
    left_out = -1  # the indentation of the step whose lines are left out
    partitions: dict[int, int] = {}
    for raw in plan.splitlines():
        line = _COST.sub("", raw.rstrip())
        indent = len(line) - len(line.lstrip())
        if 0 <= left_out < indent:
            continue
        left_out = -1
        if "(never executed)" in line:
            left_out = indent
            continue
        if "->" in line and (found := _PARTITION.search(line)):
            partitions = {depth: count for depth, count in partitions.items() if depth <= indent}
            partitions[indent] = partitions.get(indent, 0) + 1
            if partitions[indent] > 1:
                left_out = indent
                continue
            line = line.replace(found[0], "audit_logs_YYYY_MM")
        elif "->" in line:
            partitions = {depth: count for depth, count in partitions.items() if depth < indent}
        line = (
            _INDEX.sub(r" by \1", line).replace(" on audit_logs_YYYY_MM ", " on audit_logs ").replace(" loops=1)", ")")
        )
        kept.append(line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ...")
    return kept


if __name__ == "__main__":
    sys.exit(main())
