"""The dashboard of docs/ is one that Grafana's own models know, and asks for documented metrics alone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.support.documents import ROOT
from tests.support.promtool import promtool


@pytest.fixture
def dashboard() -> Any:
    return json.loads((ROOT / "docs" / "grafana.json").read_text(encoding="utf-8"))


def queries(dashboard: Any) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def lost(dashboard: Any) -> list[str]:
    """The members that the models do not bring back as they were: Grafana would not know them."""
    register_default_plugins()
    back = json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))
    return list(_differences(dashboard, back, "$"))


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """The paths of all that is in the first and not, or otherwise, in the second, which may have defaults besides."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            yield from _differences(value, after.get(name), f"{path}.{name}") if name in after else [f"{path}.{name}"]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (value, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(value, other, f"{path}[{index}]")
    elif before != after:
        yield path


def test_grafana_knows_every_member_of_the_dashboard(dashboard: Any) -> None:
    assert lost(dashboard) == []


def test_a_member_that_grafana_does_not_know_is_found(dashboard: Any) -> None:
    dashboard["panels"][0]["targets"][0]["expression"] = "up"
    dashboard["panels"][1]["fieldConfig"]["defaults"]["units"] = "s"
    assert lost(dashboard) == ["$.panels[0].targets[0].expression", "$.panels[1].fieldConfig.defaults.units"]


def test_the_dashboard_asks_for_documented_metrics_alone(dashboard: Any) -> None:
    shown = {name.removesuffix("_bucket") for name in re.findall(r"\bsvc_\w+", " ".join(queries(dashboard)))}
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(svc_\w+)|, `(svc_webhook_claim\w+)` \|", operations, re.MULTILINE))
    assert len(shown) > 12
    assert shown <= {name for pair in documented for name in pair}


def test_the_dashboard_shows_if_the_log_knows_all(dashboard: Any) -> None:
    shown = " ".join(queries(dashboard))
    for metric in (
        "svc_audit_reconciliation_findings",
        "svc_audit_reconciliation_readable",
        'svc_maintenance_age_seconds{task="capture"}',
    ):
        assert metric in shown
        assert metric in (ROOT / "docs" / "alerts.yml").read_text(encoding="utf-8")


def test_no_panel_covers_another(dashboard: Any) -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in dashboard["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len({*cells})
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_prometheus_reads_every_query_of_the_dashboard(dashboard: Any, tmp_path: Path) -> None:
    read = [query.replace("$__rate_interval", "1m") for query in queries(dashboard)]  # a variable of Grafana's
    rules = [{"record": f"panel_{number}", "expr": query} for number, query in enumerate(read)]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.json")
