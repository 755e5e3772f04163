"""The figures of svc-pg as multiples of each peer's, from the saved files of one run."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.benchmarks.capture import candidates, mysql, sqlite
from tests.benchmarks.delivery import peers as queues

_Costs = Mapping[str, Mapping[str, float]]
_AUDITS: Final = {
    candidates.POSTGRESQL_AUDIT: candidates.SVC,
    candidates.POSTGRESQL_AUDIT_STATEMENT: candidates.SVC_STATEMENT,
    candidates.PGHISTORY: candidates.SVC,
    candidates.PGHISTORY_STATEMENT: candidates.SVC_STATEMENT,
}
"""Each beside svc-pg with triggers of the same level."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """``times`` is how often the peer's figure fits in ours if less is better, and ours in the peer's if more is."""

    peer: str
    subject: str
    times: float


def _capture(figures: Mapping[str, Any]) -> Iterator[Ratio]:
    for shape, costs in figures["microseconds"].items():
        for peer, ours in _AUDITS.items():
            yield from _ratios(costs, ours, peer, f"PostgreSQL, {shape}")


def _sqlite(figures: Mapping[str, Any]) -> Iterator[Ratio]:
    whole: _Costs = figures["microseconds"]
    nothing = whole[sqlite.NO_AUDIT]
    added = {name: {each: cost - nothing[each] for each, cost in costs.items()} for name, costs in whole.items()}
    for peer in sqlite.PEERS:
        yield from _ratios(added, sqlite.SVC, peer, "SQLite")


def _mysql(figures: Mapping[str, Any]) -> Iterator[Ratio]:
    for kind, found in figures.items():
        yield from _ratios(found["costs"], mysql.SVC, mysql.PLAIN, kind)


def _ratios(added: _Costs, ours: str, peer: str, place: str) -> Iterator[Ratio]:
    """The ratios of each write that cost both of them something."""
    for operation, theirs in added.get(peer, {}).items():
        cost = added.get(ours, {}).get(operation, 0)
        if cost > 0 and theirs > 0:
            yield Ratio(peer, f"{place}, {operation}", cost / theirs)


def _queues(figures: Mapping[str, Any]) -> Iterator[Ratio]:
    for section in (queues.WORK, queues.PROCESS, queues.POSTGRES, queues.DEFER, queues.BATCH):
        results = figures.get(section.title, {}).get("results", {})
        for peer in queues.PEERS:
            if queues.SVC in results and peer in results:
                times = results[queues.SVC]["median"] / results[peer]["median"]
                yield Ratio(peer, section.title, 1 / times if section.unit.endswith("/s") else times)


READ: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Ratio]]]] = {
    "capture": _capture,
    "capture-sqlite": _sqlite,
    "capture-mysql": _mysql,
    "delivery-peers": _queues,
}
"""The reader of each saved file that has peers."""
