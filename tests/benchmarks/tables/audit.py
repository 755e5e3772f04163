"""The tables of the audit: the cost for writes, reading, seals, exports and installs."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.benchmarks.capture import candidates as names
from tests.benchmarks.capture import sqlite as on_sqlite
from tests.benchmarks.capture.figures import BULK, SINGLE
from tests.benchmarks.capture.figures import goals as capture_goals
from tests.benchmarks.saved import load
from tests.benchmarks.tables.markdown import measured, number, rows_of, table

_WRITES: Final = ("INSERT", "UPDATE", "no-op UPDATE", "DELETE")
_HEADINGS: Final = ("INSERT", "UPDATE", "UPDATE that changes nothing", "DELETE")
_TOOLS: Final = (
    *(names.SVC, names.SVC_STATEMENT),
    *(names.POSTGRESQL_AUDIT, names.POSTGRESQL_AUDIT_STATEMENT),
    *(names.PGHISTORY, names.PGHISTORY_STATEMENT),
)
_PARTS: Final = {
    names.NO_AUDIT: "the write itself, without an audit",
    names.BARE: "a trigger by hand that keeps both images",
    names.EQUAL: "a trigger by hand that writes svc-pg's entry from constants",
    names.SVC: "svc-pg",
    names.SVC_FEWEST: 'svc-pg with `indexes = ["record"]`',
    names.SVC_MORE: "svc-pg with the indexes by table and by actor too",
    names.SVC_LEAVING_OUT: 'svc-pg with `ignore = ["updated_at"]` and `record_when`',
}


def peers() -> str:
    """Single rows: svc-pg beside other tools."""
    return _capture(SINGLE)


def bulk() -> str:
    """Thousands of rows a statement."""
    return _capture(BULK)


def _capture(shape: str) -> str:
    document = load("capture")
    found = document["figures"]["microseconds"][shape]
    versions = document["versions"]
    rows = {_named(name, versions): _microseconds(found[name], _WRITES) for name in _TOOLS if name in found}
    return table("microseconds a row", _HEADINGS, rows) + measured(document)


def _named(name: str, versions: Mapping[str, str]) -> str:
    tool, _, level = name.partition(", ")
    version = "" if tool == names.SVC else versions.get(tool, "")
    return f"{tool} {version}".rstrip() + (f", by {level}" if level else "")


def _microseconds(costs: Mapping[str, float], operations: Iterable[str]) -> list[str]:
    return [number(costs[operation]) for operation in operations]


def parts() -> str:
    """The parts of svc-pg's own cost."""
    document = load("capture")
    found = document["figures"]["microseconds"][SINGLE]
    operations = (*_WRITES[:3], "touch", "DELETE")
    rows = {words: _microseconds(found[name], operations) for name, words in _PARTS.items() if name in found}
    headings = (*_HEADINGS[:3], "UPDATE of `updated_at` alone", "DELETE")
    return table("microseconds a row", headings, rows) + measured(document)


def goals() -> str:
    """The goals for svc-pg's overhead, as multiples of another's, beside the measured ones."""
    document = load("capture")
    found = document["figures"]["microseconds"]
    rows: dict[str, list[str]] = {}
    for goal in capture_goals():
        if not {goal.candidate, goal.reference} <= found[goal.shape].keys():
            continue  # in the file of an older run
        ours, theirs = (found[goal.shape][name][goal.operation] for name in (goal.candidate, goal.reference))
        verdict = "met" if ours / theirs <= goal.limit else "**missed**"
        cells = rows.setdefault(f"{goal.shape}: {goal.candidate}, times {goal.reference}", [])
        cells.append(f"{ours / theirs:.2f}, at most {goal.limit:g}: {verdict}")
    return table("goal", ("INSERT", "UPDATE", "DELETE"), rows) + measured(document)


def sqlite() -> str:
    """On SQLite, beside triggers by hand and other tools."""
    document = load("capture-sqlite")
    found, ratios, versions = document["figures"]["microseconds"], document["figures"]["ratios"], document["versions"]
    named = {on_sqlite.EQUAL: "triggers by hand that write the same columns", on_sqlite.RULES: "svc-pg, three rules"}
    rows = {}
    for name, costs in found.items():
        times = {each: f" ({number(ratio)})" for each, ratio in ratios.get(name, {}).items()}
        cells = [f"{number(costs[each])}{times.get(each, '')}" for each in _WRITES]
        rows[named.get(name, f"{name} {versions.get(name, '') if name != on_sqlite.SVC else ''}".rstrip())] = cells
    return table("microseconds a row", _HEADINGS, rows) + measured(document, "SQLite")


def sealing() -> str:
    """The cost of seals to writers, and the speed of their verification."""
    document = load("sealing")
    found = document["figures"]
    rows = {
        "CPU time of a durable insert of a row with its client, no seal": number(found["write_cpu_us"], "μs"),
        "CPU time of the seal of an entry": number(found["seal_cpu_us"], "μs"),
        "rate of two writers with a sealer, times that without: median of the turns": number(found["throughput_ratio"]),
        "entries verified in a second of CPU time": number(found["verified_per_cpu_second"]),
    }
    return rows_of(rows) + measured(document)


def reading() -> str:
    """The median and the 95th percentile of each call, by the size of the log."""
    document = load("reading")
    sizes = document["figures"]
    calls = {
        "history": "20 states of a record, `audit.history`",
        "blame": "who changed each field of a record, `audit.blame`",
        "as of, a record": "a record as of a time, `audit.as_of`",
        "since page": "50 entries of the last week",
        "table page": "50 entries of a table in the last week",
        "transaction": "the entries of a transaction",
        "as of, a table": "a count of a whole table as of a time",
        "states of a day": "the states of a table that began in one day",
    }
    rows = {
        words: [f"{number(size[name]['p50Ms'])} ({number(size[name]['p95Ms'])})" for size in sizes]
        for name, words in calls.items()
    }
    rows["a purge of the oldest month"] = [number(size["purgeOfAMonthMs"]) for size in sizes]
    return table("milliseconds", (f"{size['entries']:,} entries" for size in sizes), rows) + measured(document)


def exporting() -> str:
    """Exports of the largest log, by format."""
    document = load("reading")
    largest = max(document["figures"], key=lambda size: size["entries"])
    exports: Mapping[str, Any] = largest["export"]
    rows = {
        "CPU time of PostgreSQL for an entry": [number(each["serverMicroseconds"], "μs") for each in exports.values()],
        "CPU time of the client for an entry": [number(each["clientMicroseconds"], "μs") for each in exports.values()],
        "entries per second": [number(each["rowsPerSecond"]) for each in exports.values()],
        "bytes of an entry": [number(each["bytes"]) for each in exports.values()],
    }
    entries, memory = f"{largest['entries']:,}", f"{largest['exportMiB']} MiB"
    note = f"\nOf {entries} entries. An export as `ndjson` holds at most {memory} of Python's objects at once.\n"
    return table("", (f"`{name}`" for name in exports), rows) + note + measured(document)


def installing() -> str:
    """Seconds and statements of an install by the number of audited tables."""
    document = load("installing")
    found = {(each["tables"], each["step"]): each for each in document["figures"]}
    tables = sorted({count for count, _ in found})
    steps = {
        "first install": "first install",
        "second install": "second install, which changes nothing",
        "status": "`svc-pg status`",
    }
    rows = {}
    for step, words in steps.items():
        rows[words] = [number(found[count, step]["seconds"], "s") for count in tables]
        rows[f"{words}: statements"] = [f"{found[count, step]['statements']:,}" for count in tables]
    return table("audited tables", (f"{count:,}" for count in tables), rows) + measured(document)
