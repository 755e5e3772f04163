"""The proof of scale asks each route that reads, and a figure beyond its bound is a failure that is named."""

import json
import tomllib
from itertools import pairwise
from typing import Any

from svc_pg import Config
from tests.proof.scale.__main__ import _lines
from tests.proof.scale.addresses import addresses
from tests.proof.scale.measuring import Checked, Subject
from tests.proof.scale.sizes import CONFIG, CONFIG_FILE, Sizes, chunks
from tests.support.documents import ROOT

DOCUMENT: Any = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
KNOWN = {
    "/audit/records/{table}/{id}": ["public.t 1", "public.a/b 2"],
    "/webhooks/endpoints/{id}": ["e1", "e2"],
    "ids": ["e1"],
}
UNASKED = {"/console/session/poll", "/account/changes", "/audit/export"}


def test_each_route_without_an_id_is_asked_plain_and_with_each_filter() -> None:
    found = list(addresses(DOCUMENT, KNOWN))
    asked = {name.partition(",")[0] for name, _ in found}
    read = {path for path, methods in DOCUMENT["paths"].items() if "get" in methods}
    assert read - asked == UNASKED | {path for path in read if "{" in path and not path.startswith(tuple(KNOWN))}
    assert ("/webhooks/deliveries, status", "/webhooks/deliveries?status=failed") in found
    assert ("/audit/values", "/audit/values?of=resource") in found
    assert ("/audit/entries, record", "/audit/entries?resource=public.t&record=1") in found


def test_ids_are_parts_of_the_path_whatever_signs_they_have() -> None:
    found = [address for name, address in addresses(DOCUMENT, KNOWN) if name == "/audit/records/{table}/{id}/blame"]
    assert found == ["/audit/records/public.t/1/blame", "/audit/records/public.a%2Fb/2/blame"]


def test_the_worst_of_several_figures_counts_and_one_beyond_its_bound_is_named() -> None:
    subject = Subject("lists")
    for pages, state in ((10, "right"), (70, "never analyzed"), (20, "analyzed when small")):
        subject.note(Checked("a list", "pages", pages, 50, 3, state))
    subject.note(Checked("a list", "MiB", 50, 50, 9))
    assert [str(each) for each in subject.broken] == ["a list: 70 pages, at most 50 (never analyzed)"]
    broken, summary = _lines([subject])
    assert broken == "broken: lists: a list: 70 pages, at most 50 (never analyzed), 3 ms"
    assert summary.startswith("lists: 2 checks, 1 broken; nearest to its bound: a list: 70 pages")


def test_a_bound_of_nothing_is_kept_by_nothing_alone() -> None:
    assert Checked("a", "endpoints", 0, 0, 1).is_kept
    assert not Checked("a", "endpoints", 1, 0, 1).is_kept
    assert Checked("a", "endpoints", 1, 0, 1).share > Checked("b", "endpoints", 1, 1, 1).share


def test_the_parts_of_a_step_have_each_number_once() -> None:
    parts = list(chunks(3, 1_000_000))
    assert (parts[0][0], parts[-1][1]) == (3, 1_000_000)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(parts))
    assert list(chunks(8, 7)) == []


def test_sizes_have_folders_of_their_own_and_something_waits_in_each() -> None:
    small, large = Sizes(20_000, 1_000, 20, 40), Sizes(20_000_000, 2_000_000, 10_000, 3_000)
    assert small.name != large.name
    assert (small.waiting, small.busy) == (50, 2)
    assert (large.waiting, large.busy, large.rows) == (50_000, 100, 200_000)


def test_the_file_of_the_configuration_says_the_same_as_the_object() -> None:
    assert Config.model_validate(tomllib.loads(CONFIG_FILE)) == CONFIG
