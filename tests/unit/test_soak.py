"""The soak: its two days are alike, what grows or is lost is told, and what was seen before an early end is kept."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from statistics import mean
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from tests.benchmarks.delivery import receivers
from tests.benchmarks.saved import load
from tests.benchmarks.soak import day, drawing, samples
from tests.benchmarks.soak.findings import MIB, SLICES, Course, course_facts
from tests.benchmarks.soak.programs import Programs
from tests.benchmarks.soak.samples import Sample
from tests.benchmarks.soak.shop import Ledger, configuration, parsed
from tests.support.documents import ROOT
from tests.unit.test_documented_figures import MOST_BYTES, UPDATE

PICTURE = ROOT / "docs" / "images" / "soak.svg"
MOMENTS = [number / 6000 for number in range(3000)]


def seen(
    at: float, *, size: int = 0, memory: int = 0, more: int = 0, errors: Mapping[str, int] | None = None
) -> Sample:
    return Sample(
        at=at,
        sizes={"svc.audit_logs": size, **{f"svc.t{number}": number for number in range(more)}},
        dead_rows=1,
        oldest_transaction=0.5,
        memory={"worker": memory},
        latencies={"capture": [1.0, 2.0, 3.0 + at], "delivery": [], "page": [9.0, 9.0, 9.0]},
        calls={"capture": 5, "delivery": 0, "page": 1},
        queue=int(at),
        recovery=0.0,
        counts={"transactions": int(10 * at)},
        errors=errors or {},
    )


def course(sizes: Mapping[int, int], *, kind: str = "size") -> Course:
    """A run of 100 s with a sample each second, of these sizes from these seconds on."""
    found = []
    for at in range(1, 101):
        figure: dict[str, Any] = {kind: sizes[max(start for start in sizes if start <= at)]}
        found.append(seen(at, **figure))
    return Course(found, 100)


def test_both_days_have_the_same_load_and_the_compared_quarters_no_outage() -> None:
    for moment in MOMENTS:
        assert day.curve(moment) == pytest.approx(day.curve(moment + 0.5))
        assert 0 <= day.intensity(moment) <= day.MOST
    incidents = day.incidents(kills=8)
    assert [each.action for each in incidents].count("kill") == 8
    assert [each.at for each in incidents] == sorted(each.at for each in incidents)
    outages = [each.at for each in incidents if each.action in ("down", "up")]
    assert outages
    assert all(at % 0.5 < 0.25 for at in outages)


def test_bursts_do_not_change_the_load_of_a_day_and_nights_are_quiet() -> None:
    assert mean(map(day.intensity, MOMENTS)) == pytest.approx(mean(map(day.curve, MOMENTS)), rel=0.05)
    assert day.curve(0) < max(map(day.curve, MOMENTS)) / 5


@pytest.mark.parametrize("kind", ["size", "memory"])
def test_what_is_larger_in_the_last_quarter_than_in_the_second_has_grown(kind: str) -> None:
    name = {"size": "svc.audit_logs", "memory": "worker"}[kind]
    assert course({0: 10 * MIB, 60: 40 * MIB}, kind=kind).grown() == [name]
    assert course({0: 10 * MIB, 99: 40 * MIB}, kind=kind).grown() == [name]


@pytest.mark.parametrize(
    "sizes",
    [
        {0: 0, 20: 90 * MIB},  # the first quarter fills the tables
        {0: 90 * MIB, 52: 900 * MIB, 70: 90 * MIB},  # an outage in the third
        {0: 90 * MIB, 80: 110 * MIB},  # between two vacuums
        {0: 0, 80: MIB},
    ],
)
def test_what_levels_off_has_not_grown(sizes: Mapping[int, int]) -> None:
    assert course(sizes).grown() == []


def test_seals_may_grow_with_the_entries_and_their_size_is_told() -> None:
    found = [
        replace(seen(at), sizes={"svc.audit_seal_leaves": at * MIB, "svc.audit_removed_leaves_pkey": at * MIB})
        for at in range(1, 101)
    ]
    assert Course(found, 100).grown() == []
    assert ("MiB that seals keep of entries", "200.0", None) in course_facts(Course(found, 100))


def test_a_run_that_ended_early_says_that_growth_is_unknown_and_shows_the_rest() -> None:
    whole = course({0: 10 * MIB})
    short = Course(whole.samples[:40], whole.seconds)
    assert short.grown() is None
    facts = {name: (figure, is_good) for name, figure, is_good in course_facts(short)}
    assert facts["transactions"] == (400, None)
    assert facts["errors"] == ("none", True)
    figures = short.figures()
    assert len(figures["transactions"]) == SLICES
    assert figures["transactions"][0] == 60
    assert sum(each or 0 for each in figures["transactions"]) == 400
    assert figures["queue"][-1] is None
    ElementTree.fromstring(drawing.svg(figures))


def test_an_error_fails_the_run_with_its_words() -> None:
    facts = course_facts(Course([seen(1, errors={"writer: DeadlockDetected": 2})], 100))
    assert ("errors", "writer: DeadlockDetected (2)", False) in facts


def test_the_worst_sample_of_a_slice_is_told_and_a_slice_without_calls_is_none() -> None:
    figures = course({0: MIB}).figures()
    assert figures["captureMs"][0] == [1.0, 2.0, 9.0]
    assert figures["deliveryMs"] == [None] * SLICES


def test_a_file_of_samples_is_read_as_it_was_and_a_torn_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "samples"
    taken = [seen(1, more=3), seen(2)]
    for each in taken:
        samples.append(file, each)
    with file.open("a") as torn:
        torn.write(json.dumps(asdict(seen(3)))[:40])
    assert samples.read(file) == taken


def test_a_ledger_gives_times_once_and_counts_for_ever() -> None:
    ledger = Ledger()
    ledger.note("page", 0.0)
    ledger.count(pages=1)
    ledger.count(pages=2)
    assert ledger.taken().keys() == {"page"}
    assert ledger.taken() == {}
    assert ledger.counts == {"pages": 3}


def test_each_error_in_a_log_is_told_once_without_its_numbers(tmp_path: Path) -> None:
    programs = Programs("", tmp_path, "")
    log = tmp_path / "0" / "worker.log"
    log.parent.mkdir()
    log.write_text("2026-11-29 10:00:00,1 INFO [7] started\n2026-11-29 10:00:01,2 ERROR [7] lost 5 of 'x'\n")
    assert programs.errors() == ["worker: lost N of N"]
    with log.open("a") as more:
        more.write("2026-11-29 10:00:02,3 ERROR sealing failed\n")
    assert programs.errors() == ["worker: sealing failed"]
    assert programs.errors() == []


def test_a_later_configuration_captures_one_table_more() -> None:
    minute = timedelta(minutes=1)
    first, later = (
        parsed(configuration(kept=minute, reconcile=minute, outage=minute, is_later=is_later))
        for is_later in (False, True)
    )
    names = [{table.name for table in config.audit.tables} for config in (first, later)]
    assert names[1] - names[0] == {"public.complaint"}
    assert first.webhooks == later.webhooks
    assert isinstance(first.webhooks.retry, list)
    assert sum(first.webhooks.retry, timedelta()) > minute


def test_a_receiver_that_is_down_refuses_and_what_it_refused_has_not_arrived() -> None:
    with receivers.counting() as receiver:

        def post(path: str, number: int) -> int:
            headers = {"webhook-id": str(number)}
            return httpx.post(receiver.url + path, headers=headers, json={"data": {}}).status_code

        receiver.turn("down")
        assert (post("/outage", 1), post("/ok", 2)) == (500, 204)
        receiver.turn("up")
        assert (post("/outage", 1), post("/outage", 1)) == (204, 204)
        answers = [post("/flaky", number) for number in range(10, 20)]
        assert answers.count(500) == 2
        counts = receiver.counts()
    assert (counts.posts, counts.refused, counts.deliveries, counts.repeated) == (14, 3, 10, 1)


def test_the_picture_is_that_of_the_saved_figures() -> None:
    drawn = drawing.svg(load("soak")["figures"])
    if os.environ.get(UPDATE):
        PICTURE.write_text(drawn, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == drawn, f"read the difference, then run with {UPDATE}=1"
    texts = [each.text for each in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"A soak", "MiB of tables and indexes"} < set(texts)


def test_the_figures_of_a_run_with_many_tables_stay_small() -> None:
    figures = Course([seen(at, size=123456789, memory=987654321, more=150) for at in range(1, 101)], 100).figures()
    assert len(json.dumps(figures, indent=1)) < MOST_BYTES / 2
