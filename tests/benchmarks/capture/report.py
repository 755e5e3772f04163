"""Show the figures of a run: tables for people, JSON for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tests.benchmarks.capture.candidates import BARE, EQUAL, NO_AUDIT, Candidate
from tests.benchmarks.capture.figures import Figures, Goal
from tests.benchmarks.capture.workload import OPERATIONS, Shape

MISSING = "-"
_VERDICTS = {True: "[green]holds[/]", False: "[red]missed[/]", None: "not measured"}


def tables(
    figures: Figures, shapes: Sequence[Shape], taking_part: Sequence[Candidate], goals: Sequence[Goal]
) -> Iterator[RenderableType]:
    """The features of each candidate, the costs of each shape, and the goals."""
    yield _keeps(taking_part)
    for shape in shapes:
        if shape.name in figures.rounds:
            yield _costs(figures, shape, taking_part)
    yield _goals(figures, goals)


def _keeps(taking_part: Sequence[Candidate]) -> Table:
    table = Table(title="What each keeps of a change", title_justify="left")
    table.add_column("candidate", no_wrap=True)
    table.add_column("keeps")
    for candidate in taking_part:
        table.add_row(candidate.name, candidate.keeps)
    return table


def _costs(figures: Figures, shape: Shape, taking_part: Sequence[Candidate]) -> Table:
    size = f"{shape.statements} of {shape.rows} rows" if shape.rows > 1 else str(shape.statements)
    title = f"{shape.name} (statements of each client and operation: {size}; rounds: {figures.rounds[shape.name]})"
    table = Table(title=title, title_justify="left")
    table.add_column("µs a row", no_wrap=True)
    for operation in OPERATIONS:
        table.add_column(operation.name, justify="right", no_wrap=True)
    table.add_column("times equal limit", justify="right", no_wrap=True)
    table.add_column("times bare limit", justify="right", no_wrap=True)
    table.add_column("wall", justify="right", no_wrap=True)
    for candidate in taking_part:
        table.add_row(
            candidate.name,
            *(_cpu(figures, shape.name, candidate.name, operation.name) for operation in OPERATIONS),
            *(_ratios(figures, shape.name, candidate.name, reference) for reference in (EQUAL, BARE)),
            _walls(figures, shape.name, candidate.name),
            end_section=candidate.name == NO_AUDIT,
        )
    table.caption = (
        "CPU of the backends: of no audit whole, of the others what they add. Ratios of what they add, for INSERT,"
        " UPDATE, DELETE. Wall: whole, in the order of the columns."
    )
    return table


def _cpu(figures: Figures, shape: str, candidate: str, operation: str) -> str:
    sample = figures.sample(shape, candidate, operation)
    if sample is None:
        return MISSING
    overhead = figures.overhead(shape, candidate, operation)
    return f"{sample.cpu:.1f}" if candidate == NO_AUDIT or overhead is None else f"{overhead:+.1f}"


def _ratios(figures: Figures, shape: str, candidate: str, reference: str) -> str:
    if candidate in (NO_AUDIT, reference):
        return ""
    ratios = (figures.ratio(shape, candidate, reference, name) for name in ("INSERT", "UPDATE", "DELETE"))
    return "  ".join(f"{ratio:.2f}" if ratio is not None else MISSING for ratio in ratios)


def _walls(figures: Figures, shape: str, candidate: str) -> str:
    samples = (figures.sample(shape, candidate, operation.name) for operation in OPERATIONS)
    return "  ".join(f"{sample.wall:.0f}" if sample else MISSING for sample in samples)


def _goals(figures: Figures, goals: Sequence[Goal]) -> Table:
    table = Table(title="Goals: what the audit adds, as a ratio", title_justify="left")
    for heading in ("shape", "candidate", "operation", "goal", "measured", ""):
        table.add_column(heading, justify="right" if heading == "measured" else "left", no_wrap=True)
    for goal in goals:
        ratio = figures.ratio(goal.shape, goal.candidate, goal.reference, goal.operation)
        table.add_row(
            goal.shape,
            goal.candidate,
            goal.operation,
            f"at most {goal.limit:g} times {goal.reference}",
            MISSING if ratio is None else f"{ratio:.2f}",
            Text.from_markup(_VERDICTS[goal.holds(figures)]),
        )
    return table


def document(
    figures: Figures,
    shapes: Sequence[Shape],
    taking_part: Sequence[Candidate],
    goals: Sequence[Goal],
    versions: dict[str, str],
) -> dict[str, Any]:
    """The same for programs. Times are microseconds a row."""
    return {
        "versions": versions,
        "candidates": [{"name": candidate.name, "keeps": candidate.keeps} for candidate in taking_part],
        "shapes": [
            {
                "name": shape.name,
                "clients": shape.clients,
                "statementsPerClient": shape.statements,
                "rowsPerStatement": shape.rows,
                "rounds": figures.rounds.get(shape.name, 0),
                "results": list(_results(figures, shape.name, taking_part)),
            }
            for shape in shapes
        ],
        "goals": [
            {
                "shape": goal.shape,
                "candidate": goal.candidate,
                "operation": goal.operation,
                "reference": goal.reference,
                "limit": goal.limit,
                "ratio": figures.ratio(goal.shape, goal.candidate, goal.reference, goal.operation),
                "holds": goal.holds(figures),
            }
            for goal in goals
        ],
    }


def figures_of(figures: Figures, taking_part: Sequence[Candidate]) -> dict[str, Any]:
    """Microseconds a row by shape, candidate and operation: the whole without audit, the overhead of the others."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for shape in figures.rounds:
        for candidate in taking_part:
            for operation in OPERATIONS:
                sample = figures.sample(shape, candidate.name, operation.name)
                overhead = figures.overhead(shape, candidate.name, operation.name)
                if sample and overhead is not None:
                    cost = sample.cpu if candidate.name == NO_AUDIT else overhead
                    found.setdefault(shape, {}).setdefault(candidate.name, {})[operation.name] = cost
    return {"rounds": figures.rounds, "microseconds": found}


def _results(figures: Figures, shape: str, taking_part: Sequence[Candidate]) -> Iterator[dict[str, Any]]:
    for candidate in taking_part:
        for operation in OPERATIONS:
            if sample := figures.sample(shape, candidate.name, operation.name):
                yield {
                    "candidate": candidate.name,
                    "operation": operation.name,
                    "cpu": sample.cpu,
                    "wall": sample.wall,
                    "overhead": figures.overhead(shape, candidate.name, operation.name),
                    "timesEqualLimit": figures.ratio(shape, candidate.name, EQUAL, operation.name),
                    "timesBareLimit": figures.ratio(shape, candidate.name, BARE, operation.name),
                }
