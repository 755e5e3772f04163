"""The alerts of docs/ are rules of Prometheus; a worker's test compares their metrics with those that it serves."""

import re
from pathlib import Path
from typing import Any

import yaml

from tests.support.documents import ROOT
from tests.support.promtool import promtool

CASES = Path(__file__).with_name("alerts.test.yml")


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    assert group["name"] == "svc-pg"
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_the_alerts_are_rules_with_a_summary() -> None:
    for rule in rules():
        assert rule.keys() - {"for"} == {"alert", "expr", "annotations"}
        assert rule["annotations"].keys() == {"summary"}
        assert re.search(r"\bsvc_\w+", rule["expr"])
    assert len({rule["alert"] for rule in rules()}) == len(rules()) > 12


def test_prometheus_reads_the_alerts() -> None:
    promtool("check", "rules", ROOT / "docs" / "alerts.yml")


def test_alerts_fire_when_they_should_and_only_then() -> None:
    promtool("test", "rules", CASES)


def test_every_alert_fires_in_a_case() -> None:
    named = set(re.findall(r'alertname="(\w+)"', CASES.read_text(encoding="utf-8")))
    assert named == {rule["alert"] for rule in rules()}
