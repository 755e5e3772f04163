"""The tables of webhooks: sends, deliveries, latency, claims, job queues and goals."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.benchmarks.delivery import claiming, sending
from tests.benchmarks.delivery import latency as delays
from tests.benchmarks.delivery import peers as queues
from tests.benchmarks.delivery import pipeline as pipelines
from tests.benchmarks.delivery.figures import Section
from tests.benchmarks.saved import FOLDER, load
from tests.benchmarks.tables.markdown import MISSING, measured, number, rows_of, table

_SENDS: Final = {
    sending.PLAIN: "the rows in one INSERT that knows the endpoint and checks nothing",
    sending.SAME_WORK: "one statement that does the same work as `svc.send`",
    sending.SILENT: "`svc.send` without its notification",
    sending.SEND: "`svc.send`",
    sending.NOTIFY: "the first INSERT and `pg_notify`",
}
_SHARES: Final = {
    delays.P50: "median",
    delays.P95: "95th percentile",
    delays.P99: "99th percentile",
    delays.WORST: "longest",
}
_CLAIMS: Final = {
    claiming.EMPTY: "a claim if nothing is due",
    claiming.MANY: "a claim of 50 beside a dead endpoint with 50,000 due and 5 million finished deliveries",
    claiming.FEW: "the same without the finished ones",
    claiming.BLOCKED: "a claim beside 10,000 endpoints, none of which may be called",
    claiming.ACKNOWLEDGE: "an acknowledgement of 50",
}
_QUEUES: Final = {
    queues.WORK: ("deliveries per second", ""),
    queues.PROCESS: ("CPU time of the worker for each", "μs"),
    queues.POSTGRES: ("CPU time of PostgreSQL for each", "μs"),
    queues.DEFER: ("stored per second, one by one", ""),
    queues.BATCH: ("stored per second, 500 at a time", ""),
}


def _results(document: Mapping[str, Any], section: Section) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document["figures"][section.title]["results"]
    return found


def send() -> str:
    """Sends a second by each way, and the ratios of the goals."""
    document = load("delivery-send")
    asked = [(16, False), (32, False), (16, True), (32, True)]
    sections = [sending.section(clients, is_worker_asleep=asleep) for clients, asleep in asked]
    found = [_results(document, section) for section in sections]
    rows = {words: [_median(results, name) for results in found] for name, words in _SENDS.items()}
    for name, words in ((sending.PLAIN, "first row"), (sending.SAME_WORK, "second")):
        rows[f"`svc.send`, times the {words}"] = [_ratio(document, section, name) for section in sections]
    headings = ("16 clients", "32 clients", "16, a worker asleep", "32, a worker asleep")
    return table("transactions per second", headings, rows) + measured(document)


def _median(results: Mapping[str, Any], name: str) -> str:
    return number(results[name]["median"]) if name in results else MISSING


def _ratio(document: Mapping[str, Any], section: Section, reference: str) -> str:
    """The ratio over the rounds, as the goal has it."""
    goals = document["figures"][section.title]["goals"]
    [measured] = [goal["measured"] for goal in goals if goal["what"].endswith(f": times {reference}")]
    return f"{measured:.2f}"


def send_many() -> str:
    """Deliveries stored a second."""
    document = load("delivery-send_many")
    results = _results(document, sending.BATCH)
    named = {
        sending.SEND_MANY: "`svc.send_many`, 500 messages to two endpoints",
        sending.MANY_TENANTS: "the same, of 200 tenants with an endpoint each",
    }
    rows = {words: _median(results, name) for name, words in named.items()}
    return table("", ["deliveries stored per second"], {name: [cell] for name, cell in rows.items()}) + measured(
        document
    )


def pipeline() -> str:
    """Deliveries a second, and the cost of each, by setup."""
    document = load("delivery-pipeline")
    found = [_results(document, each) for each in (pipelines.PIPELINE, pipelines.WORKER, pipelines.POSTGRES)]
    rows = {name: [_median(results, name) for results in found] for name in found[0]}
    headings = ("deliveries per second", "CPU time of the workers for each, μs", "CPU time of PostgreSQL for each, μs")
    return table("", headings, rows) + measured(document)


def latency() -> str:
    """Milliseconds from the send to the POST."""
    idle, loaded = load("delivery-latency"), load("delivery-load")
    named = {"on an idle worker": (idle, delays.LATENCY), "at 1,000 sends per second": (loaded, delays.LOADED)}
    rows = {
        words: [_median(_results(document, section), share) for share in _SHARES]
        for words, (document, section) in named.items()
    }
    return table("milliseconds from `svc.send` to the POST", _SHARES.values(), rows) + measured(idle)


def claim() -> str:
    """Milliseconds of a claim beside many deliveries that do not concern it."""
    document = load("delivery-claim")
    results = _results(document, claiming.CLAIM)
    rows = {words: [_median(results, name)] for name, words in _CLAIMS.items()}
    return table("", ["milliseconds"], rows) + measured(document)


def beside() -> str:
    """The time that a dead endpoint takes from others, and the memory for receivers that never answer."""
    fairness, memory = load("delivery-fairness"), load("delivery-memory")
    healthy = _results(fairness, pipelines.FAIRNESS)
    [goal] = fairness["figures"][pipelines.FAIRNESS.title]["goals"]
    rows = {
        "deliveries per second to 50 healthy endpoints": _median(healthy, pipelines.ALONE),
        "the same beside a dead one with 50,000 due": _median(healthy, pipelines.BESIDE_DEAD),
        "the second, times the first: median of the rounds": f"{goal['measured']:.2f}",
        "a worker that waits for 200 receivers which never answer": (
            f"{_median(_results(memory, pipelines.MEMORY), pipelines.TARPITS)} MB resident"
        ),
    }
    return rows_of(rows) + measured(fairness)


def peers() -> str:
    """Job queues with equal jobs."""
    document = load("delivery-peers")
    versions = document["versions"]
    names = [name for name in (queues.SVC, *queues.PEERS) if name in _results(document, queues.WORK)]
    headings = [name if name == queues.SVC else f"{name} {versions[name]}" for name in names]
    rows = {}
    for section, (words, unit) in _QUEUES.items():
        results = _results(document, section)
        rows[words] = [number(results[name]["median"], unit) if name in results else MISSING for name in names]
    return table("", headings, rows) + measured(document)


def goals() -> str:
    """All measured goals, missed ones first."""
    rows = {}
    for goal in sorted(_goals(), key=lambda goal: goal["holds"]):
        limit = f"at {'least' if goal['isLeast'] else 'most'} {goal['limit']:,g}"
        rows[goal["what"]] = [limit, number(goal["measured"]), "yes" if goal["holds"] else "**no**"]
    return table("goal", ["limit", "measured", "met"], rows)


def _goals() -> Iterator[Mapping[str, Any]]:
    for file in sorted(FOLDER.glob("delivery-*.json")):
        for section in load(file.stem)["figures"].values():
            yield from (goal for goal in section["goals"] if goal["measured"] is not None)
