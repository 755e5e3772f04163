"""The tables of what the proofs counted."""

from collections.abc import Mapping
from typing import Any, Final

from tests.benchmarks.saved import load
from tests.benchmarks.tables.markdown import MISSING, measured, number, table
from tests.matrix import known
from tests.proof.foreign.suites import NAME as FOREIGN
from tests.proof.foreign.suites import SUITES
from tests.proof.mutation.outcomes import NAME as MUTATION
from tests.proof.proofs import PROOFS
from tests.proof.scale.names import NAME as SCALE
from tests.proof.scale.names import SUBJECTS
from tests.proof.threats import threats as listed_threats
from tests.proof.versions import NAME

_HEADINGS: Final = ["promise", "tests", "examples", "minutes", "failed", "not run", "on"]


def proofs() -> str:
    """The counts of the last saved run of each proof."""
    return table("proof", _HEADINGS, {f"`{proof.name}`": [proof.sentence, *_counts(proof.name)] for proof in PROOFS})


def threats() -> str:
    """The counts of each threat's tests."""
    found = {} if (document := _loaded("proof-threats")) is None else document["figures"]["threats"]
    rows = {}
    for threat in listed_threats():
        counts = found.get(threat.name, {})
        rows[threat.name] = [f"{counts[each]:,}" if counts else MISSING for each in ("passed", "failed", "examples")]
    return table("threat", ["tests passed", "failed", "examples"], rows)


def versions() -> str:
    """The last saved run of the suite on each version of PostgreSQL, and with each version of Python."""
    found = {} if (document := _loaded(NAME)) is None else document["figures"]
    ran = sorted(found, key=lambda each: [int(part) for part in each.replace(".", " ").split()])
    rows = {" with Python ".join(each.split()): _numbers(found[each]) for each in ran}
    never = {
        str(major): [MISSING] * 4 + ["never"]
        for major in known()
        if str(major) not in {each.split()[0] for each in ran}
    }
    return table("PostgreSQL", ["tests passed", "failed", "not run", "minutes", "on"], rows | never)


def foreign() -> str:
    """The last saved run of each suite of others without capture and with it."""
    found = {} if (document := _loaded(FOREIGN)) is None else document["figures"]
    headings = ["on", "parts", "tests", "same", "fail either way", "different", "entries", "minutes", "date"]
    rows = {}
    for suite in SUITES:
        run = found.get(suite.name)
        counts = [MISSING] * 7 + ["never"] if run is None else _compared(run)
        rows[f"`{suite.name}`"] = [suite.kind, *counts]
    return table("suite", headings, rows)


def mutation() -> str:
    """The faults of the last saved run of each room, and those that tests noticed."""
    headings = ["faults", "noticed", "of 100", "not in time", "on"]
    found = {} if (document := _loaded(MUTATION)) is None else document["figures"]
    rows = {f"`{room}`": [*_noticed(counts), counts["date"]] for room, counts in sorted(found.items())}
    names = ("mutants", "noticed", "unfinished")
    whole = {name: sum(counts[name] for counts in found.values()) for name in names}
    return table("room", headings, rows | {"all": [*_noticed(whole), ""]})


def scale() -> str:
    """The subjects of the last saved run on a large database, each with the figure that is nearest to its bound."""
    headings = ["checks", "broken", "nearest to its bound, or beyond it", "bound", "slowest", "on"]
    document = _loaded(SCALE)
    found = {} if document is None else document["figures"]["subjects"]
    rows = {name: _bounded(found[name]) if name in found else [MISSING] * 5 + ["never"] for name in SUBJECTS}
    shown = table("subject", headings, rows)
    if document is None:
        return shown
    sizes = document["figures"]
    names = {"entries": "entries", "deliveries": "deliveries", "endpoints": "endpoints", "tables": "audited tables"}
    said = ", ".join(f"{sizes[key]:,} {word}" for key, word in names.items())
    return shown + measured(document).replace(f"`{document['command']}`", f"`{document['command']}`: {said}", 1)


def _bounded(subject: Mapping[str, Any]) -> list[str]:
    """Of pages, or else of what the subject counts, the figure that is nearest to its bound."""
    nearest = subject["nearest"]
    unit = max(nearest, key=lambda each: nearest[each]["value"] / (nearest[each]["bound"] or 1))
    figure = nearest[unit]
    name = str(figure["name"]).replace("|", "\\|")
    shown = f"{name}: {figure['value']:,} {unit}"
    slowest = number(subject["slowestMs"], "ms")
    return [
        f"{subject['checks']:,}",
        f"{subject['brokenCount']:,}",
        shown,
        f"{figure['bound']:,}",
        slowest,
        subject["date"],
    ]


def _noticed(counts: Mapping[str, int]) -> list[str]:
    share = f"{100 * counts['noticed'] / counts['mutants']:.0f}" if counts["mutants"] else MISSING
    return [f"{counts['mutants']:,}", f"{counts['noticed']:,}", share, f"{counts['unfinished']:,}"]


def _compared(run: Mapping[str, Any]) -> list[str]:
    counts = [f"{run[each]:,}" for each in ("tests", "same", "failed", "differing", "entries")]
    if run["explained"]:
        counts[3] += f" and {run['explained']:,} explained"
    return [f"{run['units']} of {run['all_units']}", *counts, f"{run['seconds'] / 60:.0f}", run["date"]]


def _numbers(run: Mapping[str, Any]) -> list[str]:
    counts = [f"{run[each]:,}" for each in ("passed", "failed", "skipped")]
    return [*counts, f"{run['seconds'] / 60:.0f}", run["date"]]


def _counts(name: str) -> list[str]:
    if (document := _loaded(f"proof-{name}")) is None:
        return [MISSING] * (len(_HEADINGS) - 2) + ["never"]
    found = document["figures"]
    silent = len(found["silent"])
    return [
        f"{found['passed'] + found['failed']:,}",
        f"{found['examples']:,}",
        f"{found['seconds'] / 60:.0f}",
        f"{found['failed']:,}",
        f"{found['skipped']:,}" + (f", {silent} modules" if silent else ""),
        document["date"],
    ]


def _loaded(name: str) -> dict[str, Any] | None:
    """A saved file; None if it is not there."""
    try:
        return load(name)
    except FileNotFoundError:
        return None
