"""A phrase is read as filters of the log, and says which of its words are in none."""

from datetime import UTC, datetime

import pytest

from svc_pg.audit.read.phrases import Names, names_in, understood
from svc_pg.database.filters import MAX_VALUES

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
        ("between 2026-11-01 and monday", {"since": ["2026-11-01"], "until": ["2026-11-02"]}, "between monday"),
        ("mara between 2026-03-01 and 2026-03-05", {**MARA, "since": ["2026-03-01"], "until": ["2026-03-06"]}, ""),
        ("chekout", {"actor": ["checkout"]}, ""),
        ("order 5 order 6", {"resource": ["public.orders"], "record": ["5"]}, "order 6"),
        ("yesterday today mara", {"since": ["2026-11-28"], "until": ["2026-11-29"], **MARA}, "today"),
        ("29 feb", {"since": ["2024-02-29"], "until": ["2024-03-01"]}, ""),
        ("0 nov", {"since": ["2026-11-01"], "until": ["2026-12-01"]}, "0"),
        ("last 3 months", {"since": ["90d"]}, ""),
        ("last monday by mara", {"since": ["2026-11-23"], "until": ["2026-11-24"], **MARA}, ""),
        ("since monday until today", {"since": ["2026-11-23"], "until": ["2026-11-30"]}, ""),
        ("until today mara", {"until": ["2026-11-30"], **MARA}, ""),
        ("mara in the last 9999 years", MARA, "last 9999 years"),
        ("mara in the last 0 days", MARA, "last 0 days"),
        ("between 10 and 11 last week", {"since": ["7d"]}, "between 10 11"),
        ("between 10 and 11 in march", {"since": ["2026-03-01"], "until": ["2026-04-01"]}, "between 10 11"),
        ("between 10 and 11 before yesterday", {"until": ["2026-11-28"]}, "between 10 11"),
        ("today between 9 and 10", {"since": ["2026-11-29T09:00:00Z"], "until": ["2026-11-29T10:00:00Z"]}, ""),
        ("between 22 and 23", {"since": ["2026-11-28T22:00:00Z"], "until": ["2026-11-28T23:00:00Z"]}, ""),
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
        "orders -mara",
        "who didn't change orders",
        "who didn\u2019t change orders",
        "orders other than mara",
        "neither mara nor jonas",
        "orders " + "x " * 40 + "not by mara",
        "?",
        "the",
    ],
)
def test_a_phrase_that_no_filters_say_is_not_guessed(phrase: str) -> None:
    assert understood(phrase, NAMES, now=NOW).filters == {}


def test_a_name_that_several_have_means_all_of_them_or_none() -> None:
    names = Names(
        ["sales.order", "shop.order", *(f"public.part_{number}" for number in range(9))],
        {"actor": ["ina@a.example", "ina@b.example", *(f"petra@{number}.example" for number in range(6))]},
    )

    def filters(phrase: str) -> dict[str, list[str]]:
        return understood(phrase, names, now=NOW).filters

    assert filters("order 5") == {"resource": ["sales.order", "shop.order"], "record": ["5"]}
    assert filters("ina") == {"actor": ["ina@a.example", "ina@b.example"]}
    assert filters("petra") == filters("part_") == {}, "one of them would be a guess"


def test_a_phrase_names_no_more_of_a_kind_than_a_question_may() -> None:
    actors = [f"person-{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    read = understood(" ".join(actors), Names(values={"actor": actors}), now=NOW)
    assert (read.filters, read.left_out) == ({"actor": actors[:MAX_VALUES]}, actors[MAX_VALUES:])


def test_a_table_whose_name_is_a_word_of_questions_is_a_table() -> None:
    names = Names(["public.events", "public.entry"])
    assert understood("deleted events", names, now=NOW).filters == {
        "operation": ["DELETE"],
        "resource": ["public.events"],
    }
    assert understood("deleted records", names, now=NOW).filters == {"operation": ["DELETE"]}


def test_words_that_no_filter_takes_may_be_names_though_they_resemble_known_ones() -> None:
    names = Names(["public.orders"], {"actor": ["marta@corp.example"]})
    assert names_in("orders changed by maria in march", names, now=NOW) == ["maria"]


def test_a_long_phrase_is_read_up_to_a_bound() -> None:
    read = understood("x" * 500 + " tents" * 1000, NAMES, now=NOW)
    assert read.filters == {}
    assert len(read.left_out) == 1001
    read = understood("mara" + " x" * 40 + " orders", NAMES, now=NOW)
    assert (read.filters, read.left_out[-1]) == (MARA, "orders"), "what is not read is left out"
