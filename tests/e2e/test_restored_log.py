"""The log after a dump and restore, a logical copy and pg_upgrade: nothing waits for another server's transactions."""

import io
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import Config, audit, schema
from svc_pg.audit import SealKey
from svc_pg.audit.log.export_fields import ExportReport
from svc_pg.audit.read.follow import follow
from svc_pg.audit.read.horizon import horizon
from svc_pg.database.query import scalar
from svc_pg.errors import ConflictError, QueryError
from svc_pg.maintenance import maintain
from tests import matrix
from tests.support.postgres import (
    EMBEDDED_MAJOR,
    QUICK,
    Prepare,
    copied,
    embedded_programs,
    new_database,
    restartable,
    upgradable,
)
from tests.support.replication import subscribed
from tests.support.tables import audited, create_and_audit

Connection = psycopg.Connection[Any]

CONFIG = audited("t")


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key, a text)", CONFIG)


@pytest.fixture(scope="module")
def server(postgres_choice: str | None) -> Iterator[str]:
    """A server of its own, with other numbers of transactions than the one of the session."""
    folder = Path(postgres_choice or "")
    programs = folder if postgres_choice and folder.is_dir() else embedded_programs()
    with restartable(programs) as start, start() as conninfo:
        yield conninfo


@pytest.fixture
def elsewhere(server: str) -> Iterator[str]:
    """An empty database on that server."""
    with new_database(server) as conninfo:
        yield conninfo


def write(conninfo: str, *keys: int) -> None:
    """Insert the rows, each in a transaction of its own."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for key in keys:
            conn.execute("insert into t values (%s)", (key,))


def use_up_transactions(conninfo: str, number: int) -> None:
    """Give the next transaction of the server a higher number."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(f"do $$ begin for n in 1..{number} loop perform txid_current(); commit; end loop; end $$")


def restore(source: str, target: str, *options: str) -> None:
    """Dump a database and restore it into another."""
    programs = embedded_programs()
    dump = subprocess.run([programs / "pg_dump", "--dbname", source, *options], capture_output=True, check=True).stdout
    # errors of settings that an older server does not know are passed over
    subprocess.run([programs / "psql", "--quiet", "--dbname", target], input=dump, capture_output=True, check=True)


def exported(conninfo: str, after: str | None = None) -> tuple[list[int], ExportReport]:
    """The records of the entries, and the report."""
    out = io.BytesIO()
    with psycopg.connect(conninfo) as conn:
        report = audit.export(conn, audit.query().resource("t"), format="ndjson", out=out, after=after)
    return [int(json.loads(line)["recordId"]) for line in out.getvalue().splitlines()], report


def test_a_restored_log_is_settled(database: str, elsewhere: str) -> None:
    use_up_transactions(database, 2000)
    write(database, *range(30))
    restore(database, elsewhere)
    with psycopg.connect(elsewhere) as conn:
        assert scalar(conn, "select min(xact_id) > txid_current() from svc.audit_logs")  # or this shows nothing
    written, report = exported(elsewhere)
    assert (written, report.held_back) == ([*range(30)], 0)


def test_beside_a_running_writer_a_restored_log_holds_back_only_what_came_after_it(
    database: str, elsewhere: str
) -> None:
    use_up_transactions(database, 2000)
    write(database, 1, 2, 3)
    restore(database, elsewhere)
    with psycopg.connect(elsewhere) as slow:
        slow.execute("insert into t values (10)")
        write(elsewhere, 11)
        written, report = exported(elsewhere)
        assert (written, report.held_back) == ([1, 2, 3], 1)
    written, report = exported(elsewhere, report.horizon)
    assert (written, report.held_back) == ([10, 11], 0)


def test_the_cursor_of_an_export_goes_on_in_the_restored_copy(database: str, elsewhere: str) -> None:
    use_up_transactions(database, 2000)
    write(database, 1, 2, 3)
    seen, report = exported(database)
    write(database, 4, 5)
    restore(database, elsewhere)
    write(elsewhere, 6)
    later, report = exported(elsewhere, report.horizon)
    write(elsewhere, 7)
    last, _ = exported(elsewhere, report.horizon)
    assert (seen, later, last) == ([1, 2, 3], [4, 5, 6], [7])


def test_seals_go_on_in_a_restored_copy_after_they_closed_what_came_before(database: str, elsewhere: str) -> None:
    key = SealKey("s1", b"k" * 32)
    use_up_transactions(database, 2000)
    write(database, 1, 2, 3)
    with psycopg.connect(database, autocommit=True) as conn:
        audit.seal(conn, key=key)
        write(database, 4)
        restore(database, elsewhere)
        write(database, 5)
        audit.seal(conn, key=key)
        original = [*reversed(audit.seals(conn))]
    write(elsewhere, 6)
    with psycopg.connect(elsewhere, autocommit=True) as conn:
        assert audit.verify(conn, public_keys=key.public).unsealed == 2
        with pytest.raises(ConflictError, match="has no seal yet"):
            audit.prove(conn, scalar(conn, "select id from svc.audit_logs where record_id = '6'"))
        made = audit.seal(conn, key=key)
        assert [(seal.entries, seal.until_xact_id is None) for seal in made] == [(1, True), (1, False)]
        schema.install(conn, CONFIG)
        write(elsewhere, 7)
        assert len(audit.seal(conn, key=key)) == 1
        found = audit.verify(conn, public_keys=key.public)
        assert (found.findings, found.seals, found.entries, found.unsealed) == ([], 4, 6, 0)
        for record in ("1", "4", "6", "7"):
            entry = scalar(conn, "select id from svc.audit_logs where record_id = %s", (record,))
            proof = audit.prove(conn, entry)
            assert audit.check_proof(proof.text, public_keys=key.public).id == str(entry)
        found = audit.verify(conn, public_keys=key.public, copies=original)
        assert [finding.message for finding in found.findings] == ["seal 2 is not the one of the copies"]


def test_a_cursor_goes_on_through_two_restores_if_each_is_installed(
    database: str, elsewhere: str, empty_database: str
) -> None:
    use_up_transactions(database, 2000)
    write(database, 1)
    first = exported(database)[1].horizon
    write(database, 2)
    restore(database, elsewhere)
    with psycopg.connect(elsewhere) as conn:
        schema.install(conn, CONFIG)
    second = exported(elsewhere)[1].horizon
    write(elsewhere, 3)
    restore(elsewhere, empty_database)
    write(empty_database, 4)
    assert exported(empty_database)[0] == [1, 2, 3, 4]
    assert exported(empty_database, first)[0] == [2, 3, 4]
    assert exported(empty_database, second)[0] == [3, 4]
    with psycopg.connect(empty_database, autocommit=True) as conn:
        third = exported(empty_database)[1].horizon
        assert maintain(conn, Config())  # as good as an install
    write(empty_database, 5)
    assert exported(empty_database, first)[0] == [2, 3, 4, 5]
    assert exported(empty_database, third)[0] == [5]


def test_a_copy_in_the_same_server_is_another_epoch(database: str, empty_database: str) -> None:
    write(database, 1, 2)
    cursor = exported(database)[1].horizon
    restore(database, empty_database)
    write(empty_database, 3)
    write(database, 4)
    further = exported(database)[1].horizon
    write(empty_database, 5)
    assert exported(empty_database, cursor)[0] == [3, 5]
    assert exported(empty_database, further)[0] == [3, 5]  # all that only the copy has, and nothing from before it
    assert exported(database, cursor)[0] == [4]


def test_a_copy_by_template_is_of_the_same_epoch(
    database: str, maintenance: psycopg.Connection[Any], postgres: str
) -> None:
    """Its transactions have the numbers of the same server, and its tables keep their oids."""
    write(database, 1, 2)
    cursor = exported(database)[1].horizon
    write(database, 3)
    with copied(maintenance, postgres, template=str(conninfo_to_dict(database)["dbname"])) as copy:
        write(database, 4)
        write(copy, 5)
        assert exported(database, cursor)[0] == [3, 4]
        written, report = exported(copy, cursor)
        assert written == [3, 5]
        write(copy, 6)
        assert exported(copy, report.horizon)[0] == [6]


def test_the_cursor_of_another_database_is_refused_and_the_hint_names_the_way_on(database: str, elsewhere: str) -> None:
    write(database, 1)
    restore(database, elsewhere)
    of_copy = exported(elsewhere)[1].horizon
    with pytest.raises(QueryError, match="another database") as caught:
        exported(database, of_copy)
    assert "--since" in str(caught.value.hint)


def test_a_cursor_ahead_of_the_database_is_refused(database: str) -> None:
    epoch, _, number = exported(database)[1].horizon.partition(".")
    with pytest.raises(QueryError, match="recovered to an earlier time"):
        exported(database, f"{epoch}.{int(number) + 10_000_000}")


@pytest.mark.parametrize(
    "text", ["", "1903", "x.1", "0123456789ab.", "0123456789ab.-1", "0123456789ab.1.2", "0" * 10_000]
)
def test_what_is_no_cursor_is_refused(database: str, text: str) -> None:
    with pytest.raises(QueryError, match="does not say how far"):
        exported(database, text)


def test_following_a_restored_log_shows_all_of_it_and_what_comes(database: str, elsewhere: str) -> None:
    use_up_transactions(database, 2000)
    write(database, 1, 2)
    restore(database, elsewhere)
    with psycopg.connect(elsewhere) as conn:
        entries = follow(conn, audit.query().resource("t"), pause=timedelta(milliseconds=10))
        seen = [entry.record_id for entry in islice(entries, 2)]
        write(elsewhere, 3)
        seen.append(next(entries).record_id)
        with psycopg.connect(elsewhere) as other:
            other.execute("select svc.audit_begin_epoch()")  # as an install does meanwhile
        write(elsewhere, 4)
        seen.append(next(entries).record_id)
        entries.close()
    assert seen == ["1", "2", "3", "4"]


def test_entries_of_the_own_transaction_are_no_others(database: str) -> None:
    """Its number may be beyond its own snapshot."""
    with psycopg.connect(database) as conn:
        conn.execute("insert into t values (1)")
        assert horizon(conn).epoch


def test_entries_that_were_copied_are_refused_until_an_install_begins_an_epoch(database: str, elsewhere: str) -> None:
    use_up_transactions(database, 2000)
    write(database, *range(20))
    of_source = exported(database)[1].horizon
    write(database, 20)
    create_and_audit(elsewhere, "create table t (id int primary key, a text)", CONFIG)
    of_target = exported(elsewhere)[1].horizon
    with psycopg.connect(database) as source, psycopg.connect(elsewhere) as target:
        out = source.cursor().copy("copy (select * from svc.audit_logs) to stdout")
        into = target.cursor().copy("copy svc.audit_logs from stdin")
        with out as rows, into as copied:
            for row in rows:
                copied.write(row)
    with pytest.raises(ConflictError, match="another database wrote") as caught:
        exported(elsewhere)
    assert caught.value.hint == "Run svc-pg install, which begins a new epoch of the log."
    with psycopg.connect(elsewhere) as target:
        schema.install(target, CONFIG)
        write(elsewhere, 21)
        written, report = exported(elsewhere)
        assert (written, report.held_back) == ([*range(22)], 0)
        assert scalar(target, "select count(*) = count(distinct id) from svc.audit_logs")  # the sequence goes on too
    for cursor in (of_source, of_target):  # of neither can be told which of these entries it has seen
        with pytest.raises(QueryError, match="another database"):
            exported(elsewhere, cursor)


def test_a_log_that_comes_by_logical_replication_goes_on_after_an_install() -> None:
    with ExitStack() as stack:
        programs = embedded_programs()
        start = stack.enter_context(restartable(programs, settings=(*QUICK, "--wal_level=logical")))
        old = stack.enter_context(new_database(stack.enter_context(start())))
        new = stack.enter_context(new_database(stack.enter_context(stack.enter_context(restartable(programs))())))
        create_and_audit(old, "create table t (id int primary key, a text)", CONFIG)
        use_up_transactions(old, 1000)
        write(old, 1, 2)
        cursor = exported(old)[1].horizon
        restore(old, new, "--schema-only")
        with subscribed(old, new):
            write(old, 3, 4)
        with psycopg.connect(new) as conn:
            schema.install(conn, CONFIG)
        write(new, 5)
        written, report = exported(new)
        assert (written, report.held_back) == ([1, 2, 3, 4, 5], 0)
        assert exported(new, cursor)[0] == [3, 4, 5]
        write(new, 6)
        assert exported(new, report.horizon)[0] == [6]


def system_identifier(conn: Connection) -> int:
    identifier: int = scalar(conn, "select system_identifier from pg_control_system()")
    return identifier


@pytest.fixture(params=[matrix.DEBIAN, EMBEDDED_MAJOR])
def old_programs(request: pytest.FixtureRequest) -> Path:
    """The programs of a server to be upgraded: Debian's, or those of the same version, which pg_upgrade takes as well.

    Without Debian's the test is skipped, but in CI it fails.
    """
    if request.param == EMBEDDED_MAJOR:
        return embedded_programs()
    try:
        return matrix.path(request.param)
    except matrix.MatrixError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


def test_pg_upgrade_keeps_the_epoch_and_its_cursors(old_programs: Path) -> None:
    with upgradable(old_programs, embedded_programs()) as (before, upgraded):
        with before() as conninfo:
            create_and_audit(conninfo, "create table t (id int primary key, a text)", CONFIG)
            use_up_transactions(conninfo, 500)
            write(conninfo, 1, 2)
            cursor = exported(conninfo)[1].horizon
            write(conninfo, 3)
            with psycopg.connect(conninfo) as conn:
                identifier = system_identifier(conn)
                # a build may give columns options that no other build knows, and that stop pg_upgrade
                conn.execute("update pg_attribute set attoptions = null where attoptions is not null")
        with upgraded() as conninfo:
            with psycopg.connect(conninfo) as conn:
                assert system_identifier(conn) != identifier
                conn.commit()
                schema.install(conn, CONFIG)
                assert {entry.state for entry in schema.status(conn, CONFIG)} == {"ok"}
            write(conninfo, 4)
            written, report = exported(conninfo)
            assert (written, report.held_back) == ([1, 2, 3, 4], 0)
            assert exported(conninfo, cursor)[0] == [3, 4]
            assert exported(conninfo, report.horizon)[0] == []
