"""Follow a log, and read one record in the order of change."""

import itertools
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from svc_pg import audit
from svc_pg.audit.log.entry import Entry
from svc_pg.audit.read.follow import follow
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import Page
from svc_pg.errors import QueryError, TransactionError
from svc_pg.other_databases.log.change_order import walk
from svc_pg.other_databases.log.entries import log_dialect_of, one
from svc_pg.other_databases.log.follow import following
from svc_pg.other_databases.log.statements import run
from tests.support.logs import Log, records
from tests.support.pages import all_rows
from tests.support.selections import NOW
from tests.support.sqlite import audited
from tests.support.waiting import wait_until


def test_following_gives_the_newest_page_and_then_every_new_entry_once(log: Log, conn: Any) -> None:
    for record in range(1, 5):
        log.write(conn, str(record))
    log.write(conn, "other", table_name="other.x")
    seen: list[str | None] = []

    def read() -> None:
        with closing(log.connect()) as own:
            for entry in follow(own, audit.query().resource("t").limit(2), pause=timedelta(milliseconds=10)):
                seen.append(entry.record_id)
                if entry.record_id == "205":
                    return

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        wait_until(lambda: seen == ["3", "4"], "the newest page was read")
        for record in range(5, 206):
            log.write(conn, str(record), timestamp=datetime.now(UTC))
            log.write(conn, "x", timestamp=datetime.now(UTC), table_name="other.x")
        reader.result(timeout=30)
    assert seen == [str(record) for record in range(3, 206)]


def test_a_connection_inside_a_transaction_is_not_followed(conn: Any) -> None:
    with closing(conn.cursor()) as cursor:
        cursor.execute("begin")
    with pytest.raises(TransactionError):
        next(follow(conn, audit.query()))


def test_pages_that_follow_the_log_have_each_entry_once(log: Log, conn: Any) -> None:
    for record in range(1, 6):
        log.write(conn, str(record), after_data={"x": "y" * 1000})
    dialect = log_dialect_of(conn)

    def after(cursor: str) -> tuple[list[str | None], str]:
        page = run(conn, following(dialect, audit.query().limit(2), cursor, max_bytes=1500))
        assert page.next_cursor
        return [entry.record_id for entry in page], page.next_cursor

    first, cursor = after("start")
    assert first == ["1"]
    log.write(conn, "6", timestamp=datetime.now(UTC))
    found: list[str | None] = []
    wait_until(lambda: after("now")[0] == [], "now has nothing")
    while len(found) < 5:
        page, cursor = after(cursor)
        found += page
    assert found == ["2", "3", "4", "5", "6"]
    assert after(cursor)[0] == []


def test_a_page_ends_at_the_horizon_if_the_rest_of_its_stretch_is_not_wanted(log: Log, conn: Any) -> None:
    def in_few(steps: Effects[Page[Entry]]) -> Effects[Page[Entry]]:
        statement = next(steps)
        for _ in range(20):
            answer = yield statement
            try:
                statement = steps.send(answer)
            except StopIteration as end:
                return cast(Page[Entry], end.value)
        raise AssertionError("it asks again and again")

    for record in range(1, 4):
        log.write(conn, str(record))
    cut = run(conn, following(log_dialect_of(conn), audit.query().limit(1), "start"))
    assert cut.next_cursor
    log.write(conn, "4")
    assert run(conn, in_few(following(log_dialect_of(conn), audit.query().actor("nobody"), cut.next_cursor))).data == []


@pytest.mark.parametrize("cursor", ["", "x", "W10", "WyJhIiwgIiIsICIiXQ", "WyIiLCAiIiwgIngiXQ"])
def test_what_is_no_cursor_is_refused(conn: Any, cursor: str) -> None:
    with pytest.raises(QueryError):
        run(conn, following(log_dialect_of(conn), audit.query(), cursor))


def write_chain(log: Log, conn: Any, order: list[int], *, time: datetime, record: str = "r") -> None:
    """The updates 0 to 1, 1 to 2 and so on, captured in this order within one statement."""
    for state in order:
        log.write(conn, record, timestamp=time, before_data={"n": state}, after_data={"n": state + 1}, label=str(state))


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_entries_of_one_record_are_in_the_order_of_change(log: Log, conn: Any, order: str) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("MySQL lets no trigger change the table that is being changed")
    log.write(conn, "r", operation="INSERT", after_data={"n": 0}, timestamp=NOW, label="new")
    write_chain(log, conn, [3, 2, 1, 0], time=NOW + timedelta(seconds=1))
    write_chain(log, conn, [5, 4], time=NOW + timedelta(seconds=2))
    write_chain(log, conn, [1, 0], time=NOW + timedelta(seconds=1), record="other")
    expected = ["new", *map(str, range(6))]
    expected = expected if order == "oldest" else expected[::-1]
    query = audit.query().resource("t").record("r").order(order)
    for size in (1, 2, 3, 4, 10):
        assert [entry.label for entry in all_rows(conn, query.limit(size))] == expected
    some = query.label("3", "1", "5", "4")
    for size in (1, 3, 10):
        shown = [label for label in expected if label in "3154"]
        assert [entry.label for entry in all_rows(conn, some.limit(size))] == shown
    both = audit.query().record("r").order(order)
    assert [entry.label for entry in all_rows(conn, both.limit(2))] == expected


def test_images_that_do_not_tell_leave_the_order_of_capture(log: Log, conn: Any) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("as above")
    write_chain(log, conn, [7, 3, 5], time=NOW)
    assert [entry.label for entry in audit.query().record("r").order("oldest").list(conn)] == ["7", "3", "5"]


def test_a_record_that_ends_as_it_began_begins_with_its_state_before(log: Log, conn: Any) -> None:
    """The entries before it tell, in their own order: here two times, of which the later ends as it began too."""
    if not isinstance(log.at, Path):
        pytest.skip("as above")
    log.write(conn, "r", before_data={"n": "c"}, after_data={"n": "b"}, timestamp=NOW, label="new 2")
    log.write(conn, "r", operation="INSERT", after_data={"n": "c"}, timestamp=NOW, label="new 1")
    for seconds in (1, 2):
        time = NOW + timedelta(seconds=seconds)
        for label, before, after in (("2", "a", "b"), ("1", "b", "a")):
            columns = {"before_data": {"n": before}, "after_data": {"n": after}, "timestamp": time}
            log.write(conn, "r", **columns, label=f"{seconds} {label}")
    labels = [entry.label for entry in audit.query().record("r").order("oldest").list(conn)]
    assert labels == ["new 1", "new 2", "1 1", "1 2", "2 1", "2 2"]


def test_no_order_is_claimed_around_changes_that_the_rules_of_a_table_leave_out(log: Log, conn: Any) -> None:
    if isinstance(log.at, Path):
        conn.execute("insert into svc_audit_omissions values ('main.t', '1999', '[]', 1)")
    log.write(conn, "r", operation="INSERT", after_data={"n": "live"}, timestamp=NOW, label="new")
    for label, before, after in (("1", "live", "draft"), ("2", "gone", "live"), ("3", "live", "new")):
        log.write(conn, "r", before_data={"n": before}, after_data={"n": after}, timestamp=NOW, label=label)
    shown = [change.label for change in audit.last_changes(conn, "t", "r")]
    assert shown == ["3", "2", "1", "new"]
    query = audit.query().resource("t").record("r")
    for size in (1, 2, 10):
        assert [entry.label for entry in all_rows(conn, query.limit(size))] == shown
        assert [entry.label for entry in all_rows(conn, query.order("oldest").limit(size))] == shown[::-1]


@pytest.mark.parametrize("seed", range(20))
def test_the_walk_uses_every_entry_once_and_goes_on_where_the_one_before_ends(seed: int) -> None:
    chance = random.Random(seed)
    states = [None, *(str(chance.randrange(4)) for _ in range(chance.randrange(1, 12)))]
    steps = [*itertools.pairwise(states)]
    chance.shuffle(steps)
    found = walk([before for before, _ in steps], [after for _, after in steps], [None])
    assert found is not None
    assert sorted(found) == [*range(len(steps))]
    walked = [steps[position] for position in found]
    assert all(one[1] == other[0] for one, other in itertools.pairwise(walked))
    assert walked[0][0] == states[0]


def test_one_entry_is_found_by_its_id(log: Log, conn: Any) -> None:
    log.write(conn, "1")
    [entry] = audit.query().list(conn)
    assert run(conn, one(log_dialect_of(conn), int(entry.id))) == entry
    assert run(conn, one(log_dialect_of(conn), 2**70)) is None
    assert records(conn, audit.query()) == ["1"]


def test_a_trigger_that_changes_its_own_row_is_told_after_the_change_that_it_answers(tmp_path: Path) -> None:
    """SQLite fires the trigger that was made last first, so its change is captured before the one that caused it."""
    with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as conn:
        conn.execute("create table t (id integer primary key, n integer, seen integer default 0)")
        audited(conn, "t")
        conn.execute(
            "create trigger app after update of n on t begin update t set seen = seen + 1 where id = new.id; end"
        )
        conn.execute("insert into t (id, n) values (1, 0)")
        for number in range(1, 4):
            conn.execute("update t set n = ?", (number,))
        captured = [entry.changed_fields for entry in audit.query().resource("t").order("oldest").list(conn)]
        changed = [*all_rows(conn, audit.query().resource("t").record("1").order("oldest").limit(2))]
    assert captured[1] == ["seen"], "or else nothing has to be put in order"
    assert [entry.changed_fields for entry in changed[1:]] == [["n"], ["seen"]] * 3
    states = [(entry.before_data, entry.after_data) for entry in changed]
    assert all(one[1] == other[0] for one, other in itertools.pairwise(states))


def test_connections_of_sqlalchemy_and_their_pools_are_read(log: Log, conn: Any) -> None:
    log.write(conn, "1")
    url = f"sqlite:///{log.at}" if isinstance(log.at, Path) else log.url.replace(log.at.kind, "mysql+pymysql")
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.connect() as own:
        assert records(own, audit.query().resource("t")) == ["1"]
    with closing(engine.raw_connection()) as raw:
        assert records(raw, audit.query().resource("t")) == ["1"]
    engine.dispose()


def test_a_record_that_was_moved_away_and_made_anew_ends_between(log: Log, conn: Any) -> None:
    if not isinstance(log.at, Path):
        pytest.skip("as above")
    log.write(conn, "r", operation="INSERT", after_data={"n": 3}, timestamp=NOW, label="3 made anew")
    log.write(conn, "r", before_data={"n": 1}, after_data={"n": 2}, timestamp=NOW, label="2 changed")
    moved = {"before_data": {"n": 2}, "after_data": {"n": 9}, "moved_from": "r"}
    log.write(conn, "s", timestamp=NOW, label="moved away", **moved)
    log.write(conn, "r", operation="INSERT", after_data={"n": 1}, timestamp=NOW, label="1 made")
    labels = [entry.label for entry in audit.query().resource("t").record("r").order("oldest").list(conn)]
    assert labels == ["1 made", "2 changed", "3 made anew"]
