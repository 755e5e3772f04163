"""A phrase is read as filters of the log, and says which of its words are in none."""

from datetime import UTC, datetime

import pytest

from svc_pg.audit.read.phrases import Names, understood

NOW = datetime(2026, 11, 29, 11, 30, tzinfo=UTC)  # a Sunday
NAMES = Names(
    ["public.orders", "public.customer", "public.product", "public.order_line", "svc.tenants"],
    {
        "actor": ["checkout", "warehouse", "mara@corp.example", "jonas@corp.example"],
        "tenant": ["acme", "northwind"],
        "label": ["price nearly zero", "refund"],
        "compliance": ["gdpr"],
    },
)
DAY = {"since": ["2026-03-01"], "until": ["2026-03-02"]}
MARA = {"actor": ["mara@corp.example"]}


@pytest.mark.parametrize(
    ("phrase", "filters", "left_out"),
    [
        ("last week by mara", {"since": ["7d"], **MARA}, ""),
        ("deleted customers", {"operation": ["DELETE"], "resource": ["public.customer"]}, ""),
        (
            "Who read customer 116?",
            {"operation": ["READ"], "resource": ["public.customer"], "record": ["116"]},
            "",
        ),
        ("changes without an actor", {"missing": ["actor"]}, ""),
        ("what did checkout do on 2026-03-01", {"actor": ["checkout"], **DAY}, ""),
        (
            "price of order 17 in march",
            {"resource": ["public.orders"], "record": ["17"], "since": ["2026-03-01"], "until": ["2026-04-01"]},
            "price",
        ),
        (
            "between 10 and 11 yesterday",
            {"since": ["2026-11-28T10:00:00Z"], "until": ["2026-11-28T11:00:00Z"]},
            "",
        ),
        ("from 9:30am to 1pm", {"since": ["2026-11-29T09:30:00Z"], "until": ["2026-11-29T13:00:00Z"]}, ""),
        ("refunds over 100 by Jonas", {"label": ["refund"], "actor": ["jonas@corp.example"]}, "over 100"),
        ("price nearly zero", {"label": ["price nearly zero"]}, ""),
        ("high or higher gdpr", {"minSeverity": ["high"], "compliance": ["gdpr"]}, ""),
        ("everything of northwind, last 3 days", {"tenant": ["northwind"], "since": ["3d"]}, ""),
        ("monday", {"since": ["2026-11-23"], "until": ["2026-11-24"]}, ""),
        ("sunday", {"since": ["2026-11-22"], "until": ["2026-11-23"]}, ""),
        ("1st march", DAY, ""),
        ("mar 1 2025", {"since": ["2025-03-01"], "until": ["2025-03-02"]}, ""),
        ("december", {"since": ["2025-12-01"], "until": ["2026-01-01"]}, ""),
        ("mara before yesterday", {**MARA, "until": ["2026-11-28"]}, ""),
        ("mara after 2026-03-01", {**MARA, "since": ["2026-03-02"]}, ""),
        ("mara between 2026-03-01 and 2026-03-05", {**MARA, "since": ["2026-03-01"], "until": ["2026-03-06"]}, ""),
        ("chekout", {"actor": ["checkout"]}, ""),
        ("order 5 order 6", {"resource": ["public.orders"], "record": ["5"]}, "order 6"),
        ("yesterday today mara", {"since": ["2026-11-28"], "until": ["2026-11-29"], **MARA}, "today"),
        ("31 february of mara", {"since": ["2026-02-01"], "until": ["2026-03-01"], **MARA}, "31"),
    ],
)
def test_a_phrase_says_its_filters_and_what_it_leaves_out(
    phrase: str, filters: dict[str, list[str]], left_out: str
) -> None:
    read = understood(phrase, NAMES, now=NOW)
    assert (read.filters, " ".join(read.left_out)) == (filters, left_out)


@pytest.mark.parametrize(
    "phrase",
    [
        "not by mara",
        "customers but no orders by mara",
        "mara or jonas",
        "tents over 100",
        "between 25 and 30",
        "?",
        "the",
    ],
)
def test_a_phrase_that_no_filters_say_is_not_guessed(phrase: str) -> None:
    assert understood(phrase, NAMES, now=NOW).filters == {}


def test_a_long_phrase_is_read_up_to_a_bound() -> None:
    read = understood("x" * 500 + " tents" * 1000, NAMES, now=NOW)
    assert read.filters == {}
    assert len(read.left_out) == 30
