"""The alerts of docs/ are rules of Prometheus; a worker's test compares their metrics with those that it serves."""

import re

import yaml

from tests.support.documents import ROOT


def test_the_alerts_are_rules_with_a_summary() -> None:
    [group] = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    assert group["name"] == "svc-pg"
    for rule in group["rules"]:
        assert rule.keys() - {"for"} == {"alert", "expr", "annotations"}
        assert rule["annotations"].keys() == {"summary"}
        assert re.search(r"\bsvc_\w+", rule["expr"])
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"]) > 12
