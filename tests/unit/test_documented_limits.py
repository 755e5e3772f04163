"""The page on limits has the numbers of the program, and every bound that a module makes public."""

import importlib
import re
from datetime import timedelta
from pathlib import Path
from typing import Final

from tests.support.documents import ROOT

PAGE: Final = (ROOT / "docs" / "explanation" / "limits.md").read_text(encoding="utf-8")
SOURCES: Final = re.findall(r"([\d.,]+)( (?:KiB|MiB|bytes|s|min|h|days?)(?=<))?<!-- (.+?) -->", PAGE)
UNITS: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "s": 1, "min": 60, "h": 3600, "day": 86_400, "days": 86_400}
PER_SOURCE: Final = {"svc_pg.audit.read.search:_TIMEOUT": 1000}
"""Milliseconds, where the page has seconds."""
SAID_ELSEWHERE: Final = {
    "svc_pg.webhooks.traffic.backlog:MOST_COUNTED",  # a figure of the console says "or more" by itself
    "svc_pg.webhooks.endpoints.endpoint_health:MOST_COUNTED",
    "svc_pg.webhooks.events.event_types:MOST_COUNTED",
    "svc_pg.seals.database.changed_fields:MOST_TRIED",  # how many forged entries a verification looks at twice
    "svc_pg.other_databases.capture.mysql.expressions:MAX_IDENTIFIER",  # MySQL's own
    "svc_pg.testing.http_server:MAX_BYTES",
    "svc_pg.console.http.body:MAX_ERRORS",
    "svc_pg.console.sign_in.portal_links:LONGEST",  # docs/portal.md
    "svc_pg.console.sign_in.api_tokens:LONGEST",
}


def shown(number: str, unit: str) -> float:
    return float(number.replace(",", "")) * UNITS.get(unit.strip(), 1)


def value(source: str) -> float:
    """The value of ``module:NAME``, or of the group of a pattern in ``file: PATTERN``."""
    place, _, rest = source.partition(":")
    if "/" in place:
        found = re.search(rest.strip(), (ROOT / place).read_text(encoding="utf-8"))
        assert found, source
        return float(found[1])
    constant = getattr(importlib.import_module(place), rest)
    return constant.total_seconds() if isinstance(constant, timedelta) else float(constant)


def test_each_number_is_that_of_the_program() -> None:
    assert len(SOURCES) == PAGE.count("<!--") > 90
    wrong = {}
    for number, unit, source in SOURCES:
        plain, scaled = float(number.replace(",", "")), shown(number, unit) * PER_SOURCE.get(source, 1)
        if value(source) not in (plain, scaled):
            wrong[source] = f"{number}{unit}"
    assert wrong == {}


def test_every_public_bound_is_on_the_page() -> None:
    bounds = set()
    for file in (ROOT / "svc_pg").rglob("*.py"):
        if file.is_relative_to(ROOT / "svc_pg" / "console" / "pages"):  # which show what fits on a screen
            continue
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for name in re.findall(r"^((?:MAX|MOST|LONGEST)\w*)\b.* = ", Path(file).read_text(encoding="utf-8"), re.M):
            bounds.add(f"{module}:{name}")
    named = {source for _, _, source in SOURCES}
    assert bounds - named - SAID_ELSEWHERE == set()
    assert bounds >= SAID_ELSEWHERE
