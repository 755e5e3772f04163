"""The cheap conditions of searches: every entry that a search finds meets them, whatever its texts are."""

import json
import random
from collections.abc import Sequence

import psycopg
import pytest
from psycopg.types.json import Jsonb

from svc_pg.audit.read.search_conditions import has_fact, has_words, letters_of
from svc_pg.database.pagination import ALL

WORDS = """
select d.n from entry d
 where svc.audit_words(before_data, after_data, description)
       @@ websearch_to_tsquery('pg_catalog.simple'::regconfig, %s) order by d.n
"""
FACTS = """
select d.n from entry d
 where exists (select from jsonb_each_text(case jsonb_typeof(context) when 'object' then context end) f
                where f.value = %s) order by d.n
"""
PIECES = [
    *("tent", "Tent", "TENT", "tents", "ridge", "Kiosk", "KIOSK", "\u212aiosk"),
    *("\u0130nfo", "INFO", "\u0131nfo", "info", "or", "OR", "not"),
    *("ann@corp.example", "ANN@corp.example", "1045", "10.45", "1e5", "-7", "a_b", "foo-bar", "x.y.z"),
    *('"', "\\", "\n", "\t", "/", "<b>", "</b>", "&amp;", "http://shop.example/a?b=c", "/usr/lib/x.so", "\u00e9tat"),
    *("'", "%", "_", "(", ")", "\u0001", "\u3000", "ﬁne", "straße", "STRASSE", "true", "null", "{", "}"),
]
SEPARATORS = ["", " ", "  ", "\n", "."]


def text(chance: random.Random, most: int = 5) -> str:
    return "".join(chance.choice(PIECES) + chance.choice(SEPARATORS) for _ in range(chance.randint(1, most)))


def value(chance: random.Random) -> object:
    plain: Sequence[object] = (1045, 10.45, 1e5, True, None)
    return chance.choice([*plain, text(chance), [text(chance), 7], {text(chance): text(chance)}])


@pytest.fixture
def entries(conn: psycopg.Connection) -> list[str]:
    """Entries of all kinds of texts; the values of their contexts."""
    chance = random.Random(36)
    conn.execute(
        "create temporary table entry (n serial, before_data jsonb, after_data jsonb, description text, context jsonb)"
    )
    found: list[str] = []
    for number in range(400):
        context = {text(chance, 1): value(chance) for _ in range(2)}
        found += [each if isinstance(each, str) else json.dumps(each) for each in context.values()]
        conn.execute(
            "insert into entry (before_data, after_data, description, context) values (%s, %s, %s, %s)",
            [
                Jsonb({"a": value(chance)}) if number % 3 == 0 else None,
                Jsonb({"b": value(chance), "c": text(chance, 9)}) if number % 5 else None,
                text(chance) if number % 4 == 0 else None,
                [Jsonb(context), Jsonb([text(chance)]), None][number % 3],
            ],
        )
    return found


def test_a_search_for_words_finds_what_it_would_find_without_the_look_at_letters(
    conn: psycopg.Connection, entries: list[str]
) -> None:
    chance = random.Random(37)
    questions = [text(chance, 2).strip() for _ in range(600)] + ["tent ridge", "info", "kiosk", "KIOSK info 1045"]
    met = skipped = 0
    for question in dict.fromkeys(each for each in questions if each):
        wanted = has_words(ALL, question)
        expected = conn.execute(WORDS, [question]).fetchall()
        assert conn.execute("select n from entry" + wanted.clause + " order by n", wanted.params).fetchall() == expected
        met += bool(expected) and bool(letters_of(question))
        skipped += not letters_of(question)
    assert entries
    assert met > 50, "few questions with letters find something"
    assert skipped > 50, "few questions are without letters"


def test_a_search_for_a_fact_finds_what_it_would_find_without_the_look_at_the_text(
    conn: psycopg.Connection, entries: list[str]
) -> None:
    found = 0
    for fact in [*dict.fromkeys(entries), "7", "true", "null", "1045"]:
        wanted = has_fact(ALL, fact)
        expected = conn.execute(FACTS, [fact]).fetchall()
        assert conn.execute("select n from entry" + wanted.clause + " order by n", wanted.params).fetchall() == expected
        found += bool(expected)
    assert found > 50


@pytest.mark.parametrize(
    ("question", "letters"),
    [
        ("orders", ["%orders%"]),
        ("Ridge tent", ["%R_dge%", "%tent%"]),
        ("a b c d e", ["%a%", "%b%", "%c%", "%d%"]),
        ("ann@corp.example", ["%example%", "%corp%", "%ann%"]),
        ("1e5tent", ["%tent%", "%1%", "%e%", "%5%"]),
        ("tent or shoe", []),
        ('"ridge tent"', []),
        ("-tent", []),
        ("http://tent", []),
        ("&amp", []),
        ("zelt\u00e9", []),
        ("x" * 101, []),
    ],
)
def test_letters_are_sought_only_if_each_word_is(question: str, letters: list[str]) -> None:
    assert letters_of(question) == letters
