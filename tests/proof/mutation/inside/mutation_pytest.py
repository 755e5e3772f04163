"""A plugin of pytest that notes which lines a test reaches, or runs the tests that a file names, in its order."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

_CHOSEN = os.environ.get("MUTATION_TESTS")
_NOTED = os.environ.get("MUTATION_NOTED")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests with all their cases, those first that the file names first."""
    if _CHOSEN is None:
        return
    order = {name: number for number, name in enumerate(Path(_CHOSEN).read_text(encoding="utf-8").splitlines())}
    places = {item: _places(item, order) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not places[item]])
    items[:] = sorted((item for item in items if places[item]), key=lambda item: min(places[item]))


def _places(item: pytest.Item, order: Mapping[str, int]) -> list[int]:
    """The places of an item in the order, by the name of its test without the case, and by that of its file."""
    names = (item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])
    return [order[name] for name in names if name in order]


def pytest_configure(config: pytest.Config) -> None:
    """Trace this process, unless it only hands out tests to others."""
    if _NOTED is None or (config.option.numprocesses and not hasattr(config, "workerinput")):
        return
    config.pluginmanager.register(_Tracer(Path(_NOTED)))


class _Tracer:
    """Traces each test, with its fixtures, in a context of its name."""

    def __init__(self, folder: Path) -> None:
        import coverage  # only a run that traces needs it

        worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        copy = os.environ["MUTATION_COPY"]
        self._coverage = coverage.Coverage(
            data_file=folder / f"lines.{worker}",
            config_file=False,
            include=[f"{copy}/svc_pg/*", f"{copy}/cli/*"],
            concurrency=["thread", "greenlet"],
        )
        self._coverage.start()
        self._outcomes: dict[str, tuple[str, float]] = {}
        self._file = folder / f"outcomes.{worker}"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            outcome = self._outcomes.get(item.nodeid, ("passed", 0.0))[0]
            self._outcomes[item.nodeid] = outcome, round(time.monotonic() - began, 2)
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._outcomes[report.nodeid] = report.outcome, 0.0

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._file.write_text(json.dumps(self._outcomes), encoding="utf-8")
