"""The dearest questions that somebody can type into the bar of the log: what is read for each has a bound in rows.

Rows are counted, because time depends on the machine: a question whose bound is missing reads the whole log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import httpx
import psycopg
import pytest
from psycopg import AsyncConnection
from starlette.datastructures import QueryParams

from svc_pg import Config
from svc_pg.audit.read import audit_query, facets, search, stretch
from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.listing import listing
from svc_pg.console import Console
from svc_pg.console.built_in.audit_filters import ENTRIES, WHICH
from svc_pg.console.http.parameters import filtered
from svc_pg.console.views.list_questions import keys_of
from svc_pg.questions.reading import read
from tests.integration.console.browsing import Browser, assert_strict, signed_in
from tests.integration.console.serving import serving_installed, settings
from tests.support.long_log import fill, know
from tests.support.postgres import new_database

LOGGED: Final = 40_000
RARE: Final = stretch._MOST_RARE + 1
"""The rows by which a stretch finds out that its table or record is not rare."""
FEW: Final = 100
"""Rows of other tables."""
_ROWS: Final = """
select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::int
  from pg_stat_xact_user_tables where schemaname = 'svc'
"""

WORDS: Final = " ".join(f"w{number}" for number in range(60))
COSTLY: Final = {
    "many words": WORDS,
    "many words, of which none may be there": " ".join(f"-{word}" for word in WORDS.split()[:30]),
    "many alternatives of words": " or ".join(WORDS.split()[:29]),
    "a long text": f'"{"x" * 1_990}"',
    "a long text of letters that every row has": f'"{"a " * 900}"',
    "signs of a regular expression": '"(a+)+$ ((.*)*)* [[:alpha:]]{1,999}"',
    "signs of LIKE": f'"{"%_" * 900}\\\\"',
    "a letter": "q",
    "a word in a wide window": "nobody since:3650d",
    "a word between two times": "nobody since:3650d until:1m",
    "a context": "context:nobody",
    "a context in a wide window": "context:nobody since:3650d",
    "a context of one table": "context:nobody table:public.t",
    "members of a snapshot": 'contains:"{\\"a\\": -1}"',
    "many members of a snapshot": "contains:{}",
    "all searches at once": 'nobody context:nobody contains:"{\\"a\\": -1}"',
    "many actors": "actor:" + ",".join(f"nobody{number}" for number in range(20)),
    "many actors that it is not": "-actor:" + ",".join(f'"actor {number}"' for number in range(20)),
    "nothing that it is": "label:none compliance:none changed:none actor:none tenant:none",
    "what most entries lack": "missing:actor,label,severity,compliance tenant:none",
    "a rare severity": "severity:critical label:none",
    "a record of any table": "record:nobody",
    "the record with most entries": "table:public.t record:1 label:none",
    "the record with most entries, by a word": "table:public.t record:1 nobody",
}
OF_TRANSACTIONS: Final = {
    "a transaction of many entries": "transaction:7 label:none",
    "a transaction of many entries, by a word": "transaction:7 nobody",
}
"""The reads of transactions have their bound in pages: test_read_plans counts them."""


@pytest.fixture(scope="module", params=["never analyzed", "right"])
def installed(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            fill(conn, LOGGED)
            know(conn, request.param)
        yield conninfo


@pytest.fixture(scope="module")
def reader(installed: str) -> Iterator[Browser]:
    with serving_installed(Console(settings(database_url=installed), config=Config())) as client:
        yield signed_in(client, "read")


async def rows_read(conninfo: str, call: Callable[[AsyncConnection[Any]], Awaitable[object]]) -> int:
    """The rows of our tables that a call reads, in a transaction whose settings it may change."""
    async with await AsyncConnection.connect(conninfo) as conn:
        [before] = await (await conn.execute(_ROWS)).fetchall()
        await call(conn)
        [after] = await (await conn.execute(_ROWS)).fetchall()
        await conn.rollback()
    return int(after[0] - before[0])


async def listed(conn: AsyncConnection[Any], *, query: AuditQuery) -> object:
    if not query.searches:
        return await query.alist(conn, max_bytes=1_000_000)
    await search.check_words(conn, query)
    return await search.search(conn, listing(query), max_bytes=1_000_000)


def asked(question: str) -> QueryParams:
    """The filters of a question, as its address has them."""
    found = read(question, keys_of("audit"), now=datetime.now(UTC))
    return QueryParams([(name, value) for name, values in found.items() for value in values])


@pytest.mark.parametrize("question", COSTLY.values(), ids=COSTLY)
def test_a_costly_question_reads_a_part_of_the_log(
    installed: str, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_TIMEOUT", "60000")
    filters = asked(question)
    query = filtered(audit_query.query(), filters, ENTRIES)
    # once for the end of the stretch, which may come before 10,000 entries, and once for what it has
    most = 2 * (search.MAX_ENTRIES + RARE) + FEW
    assert most < LOGGED
    assert asyncio.run(rows_read(installed, partial(listed, query=query.limit(50)))) <= most


@pytest.mark.parametrize("question", [each for each in COSTLY.values() if "nobody" not in each])
def test_what_stands_beside_the_list_reads_a_part_of_the_log_too(installed: str, question: str) -> None:
    which = QueryParams([(name, value) for name, value in asked(question).multi_items() if name in WHICH])
    query = filtered(audit_query.query(), which, WHICH)
    most = facets.MAX_ENTRIES + RARE + FEW
    assert asyncio.run(rows_read(installed, partial(facets.afacets, query=query))) <= most


@pytest.mark.parametrize("question", [*COSTLY.values(), *OF_TRANSACTIONS.values()], ids=[*COSTLY, *OF_TRANSACTIONS])
def test_the_page_of_a_costly_question_has_an_answer_or_says_that_it_took_too_long(
    reader: Browser, question: str
) -> None:
    sent = reader.ask("GET", f"/audit?q={quote(question)}")
    assert sent.status_code == 303
    page: httpx.Response = reader.ask("GET", sent.headers["location"])
    assert page.status_code == 200 or (page.status_code == 503 and "The database took too long" in page.text)
    assert_strict(page.text)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (" ".join(["w"] * 61), "A question has up to 60 keys and words"),
        ("x" * 2_001, "It may have up to 2,000"),
        ("actor:" + ",".join(f"a{number}" for number in range(200)), "It may have up to"),
        ("-" * 40 + "x", "PostgreSQL cannot read the words"),
    ],
)
def test_a_question_beyond_the_bounds_is_refused_in_words(reader: Browser, question: str, said: str) -> None:
    answer = reader.ask("GET", f"/audit?q={quote(question)}")
    if answer.status_code == 303:
        answer = reader.ask("GET", answer.headers["location"])
    assert answer.status_code == 422
    assert said in answer.text
