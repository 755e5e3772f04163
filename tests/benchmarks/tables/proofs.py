"""The tables of what the proofs counted."""

from typing import Any, Final

from tests.benchmarks.saved import load
from tests.benchmarks.tables.markdown import MISSING, table
from tests.proof.proofs import PROOFS
from tests.proof.threats import threats as listed_threats

_HEADINGS: Final = ["promise", "tests", "examples", "rounds", "minutes", "failed", "not run", "on"]


def proofs() -> str:
    """The counts of the last saved run of each proof."""
    return table("proof", _HEADINGS, {f"`{proof.name}`": [proof.sentence, *_counts(proof.name)] for proof in PROOFS})


def threats() -> str:
    """The counts of each threat's tests."""
    found = {} if (document := _loaded("threats")) is None else document["figures"]["threats"]
    rows = {}
    for threat in listed_threats():
        counts = found.get(threat.name, {})
        rows[threat.name] = [f"{counts[each]:,}" if counts else MISSING for each in ("passed", "failed", "examples")]
    return table("threat", ["tests passed", "failed", "examples"], rows)


def _counts(name: str) -> list[str]:
    if (document := _loaded(name)) is None:
        return [MISSING] * (len(_HEADINGS) - 2) + ["never"]
    found = document["figures"]
    silent = len(found["silent"])
    return [
        f"{found['passed'] + found['failed']:,}",
        f"{found['examples']:,}",
        f"{found['rounds']}",
        f"{found['seconds'] / 60:.0f}",
        f"{found['failed']:,}",
        f"{found['skipped']:,} tests" + (f", {silent} modules" if silent else ""),
        document["date"],
    ]


def _loaded(name: str) -> dict[str, Any] | None:
    """The last saved run of a proof; None if there is none."""
    try:
        return load(f"proof-{name}")
    except FileNotFoundError:
        return None
