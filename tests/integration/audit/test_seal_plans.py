"""A seal, and a question for what has none, read a part of a long log, whatever the statistics of the planner say."""

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.audit.certificates import MOST_ENTRIES
from svc_pg.database.effects import Effects
from svc_pg.database.performing import run
from svc_pg.seals.database.leaf_queries import count_of, leaves_of
from svc_pg.seals.verification.seal import Stretch
from tests.support.long_log import BULK, HOT, STATES, fill, know, pages
from tests.support.postgres import new_database

Connection = psycopg.Connection[Any]

ENTRIES: Final = 100_000
PART: Final = 4_000
MOST: Final = 1_200
"""Pages; the log has some 8,000, and each other index of it some 500."""
OF_A_CERTIFICATE: Final = 2_500
"""Pages, with the leaves of the seal; an id that no index has would read all of the log, or all of an index of it."""
KEY: Final = SealKey("s1", b"k" * 32)
_PLACE: Final = """
select (select min(id) from svc.audit_logs) + %s, min(xact_id), max(xact_id) + 1, max(id) from svc.audit_logs
"""
_FIRST_UNSEALED: Final = """
select l."timestamp" = svc.audit_unsealed_since() from svc.audit_logs l
 where l.table_name = 'public.t' and l.record_id = '2' and l.operation = 'INSERT'
"""
_SMALL: Final = "select xact_id from svc.audit_logs group by xact_id having count(*) = 2 order by xact_id desc limit 1"


@pytest.fixture(scope="module")
def filled(postgres: str, template: str) -> Iterator[str]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo, autocommit=True) as conn:
            fill(conn, ENTRIES)
            conn.execute("insert into t values (1, 1)")
            assert audit.seal(conn, key=KEY)
            conn.execute("insert into t values (2, 2), (3, 3)")
        yield str(conninfo_to_dict(conninfo)["dbname"])


@pytest.fixture(scope="module", params=STATES)
def conn(request: pytest.FixtureRequest, postgres: str, filled: str) -> Iterator[Connection]:
    with new_database(postgres, template=filled) as conninfo, psycopg.connect(conninfo, autocommit=True) as conn:
        know(conn, request.param)
        yield conn


def asked(conn: Connection, effect: Any) -> Any:
    def effects() -> Effects[Any]:
        return (yield effect)

    return run(conn, effects())


def test_a_part_of_a_seal_reads_a_part_of_the_log(conn: Connection) -> None:
    [(after, first, last, _)] = conn.execute(_PLACE, [ENTRIES // 2]).fetchall()
    part = Stretch("", None, first, last, after, after + PART)
    [counted] = asked(conn, count_of(part, ended_at=None))
    assert counted.entries == PART
    assert pages(conn, lambda: asked(conn, count_of(part, ended_at=None))) < MOST
    assert pages(conn, lambda: asked(conn, leaves_of([part], ended_at=None))) < MOST
    text = "select entries from svc.audit_count_stretch(%s, %s, %s, %s, '-infinity', null)"
    stretch = [first, last, after, after + PART]
    assert conn.execute(text, stretch).fetchall() == [(PART,)]
    assert pages(conn, lambda: conn.execute(text, stretch)) < MOST


def test_the_oldest_entry_without_a_seal_is_found_in_the_newest_ones(conn: Connection) -> None:
    assert conn.execute(_FIRST_UNSEALED).fetchall() == [(True,)]
    assert pages(conn, lambda: conn.execute("select svc.audit_unsealed_since()")) < MOST


def test_the_extent_of_a_change_is_found_by_the_number_of_its_transaction_or_entry(conn: Connection) -> None:
    [(number,)] = conn.execute(_SMALL).fetchall()
    text = "select entries from svc.audit_change_extent(%s, %s)"
    assert conn.execute(text, [number, None]).fetchall() == [(2,)]
    assert pages(conn, lambda: conn.execute(text, [number, None])) < MOST
    [(_, _, _, newest)] = conn.execute(_PLACE, [0]).fetchall()
    assert conn.execute(text, [None, newest]).fetchall() == [(1,)]
    assert pages(conn, lambda: conn.execute(text, [None, newest])) < MOST


def test_a_large_transaction_is_refused_before_it_is_read(conn: Connection) -> None:
    with pytest.raises(psycopg.DatabaseError, match="more than 5000 entries"):
        conn.execute("select svc.audit_change_extent(%s, null)", [BULK])


def test_a_certificate_finds_its_entries_by_their_ids(conn: Connection) -> None:
    found = audit.certify_record(conn, "t", HOT)
    assert len(found.entries) == MOST_ENTRIES
    assert pages(conn, lambda: audit.certify_record(conn, "t", HOT)) < OF_A_CERTIFICATE
    newest = found.entries[0].id
    assert [each.id for each in audit.certify(conn, newest).entries] == [newest]
    assert pages(conn, lambda: audit.certify(conn, newest)) < OF_A_CERTIFICATE
