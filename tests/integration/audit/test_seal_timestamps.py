"""Timestamps of seals by an authority outside: taken each hour, verified then and later, and named if not good."""

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

from cli.stamp_words import stamp_words
from svc_pg import audit
from svc_pg.audit import Seal, SealKey, Verification
from svc_pg.database.query import fetch
from svc_pg.errors import ConfigError, ProofError, SvcError
from svc_pg.maintenance import seal_timestamps
from svc_pg.maintenance.seal_copies import SealCopies
from svc_pg.maintenance.seal_timestamps import AGAIN, EVERY, Authority, SealTimestamps
from svc_pg.seals.database.stored_timestamps import add_timestamp, last_timestamp
from svc_pg.seals.database.timestamp_coverage import STAMPED_WITHIN
from svc_pg.seals.timestamp_files import read_timestamps, timestamp_name_of
from svc_pg.seals.timestamps import BadTimestamp, TimestampAuthority, question_of
from svc_pg.seals.verification.copies import read_copies
from svc_pg.seals.writing.copying import append_new, appending, lacking_timestamps
from svc_pg.status.seal_destinations import SealDestination, seal_destinations
from svc_pg.webhooks.http import single_post
from svc_pg.webhooks.http.single_post import post
from tests.support import timestamp_authority as support
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit
from tests.support.timestamp_authority import Answer, Certified, Served, granted, serving

Connection = psycopg.Connection[Any]

KEY: Final = SealKey("s1", b"k" * 32)


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: create_and_audit(conninfo, "create table t (id int primary key)", audited("t"))


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="module")
def ca() -> Certified:
    return support.root()


@pytest.fixture(scope="module")
def tsa(ca: Certified, tmp_path_factory: pytest.TempPathFactory) -> support.TimestampAuthority:
    return support.TimestampAuthority.new(tmp_path_factory.mktemp("tsa") / "good", ca)


@pytest.fixture(scope="module")
def trusted(tsa: support.TimestampAuthority) -> TimestampAuthority:
    return TimestampAuthority.read(tsa.ca_file)


@pytest.fixture
def served(tsa: support.TimestampAuthority) -> Iterator[Served]:
    with serving(granted(tsa)) as server:
        yield server


@pytest.fixture
def timestamps(served: Served, trusted: TimestampAuthority) -> SealTimestamps:
    return SealTimestamps(Authority(served.url, trusted), post)


def seal(conn: Connection, count: int = 1) -> Seal:
    """Make as many seals, of an entry each, and return the last."""
    made = []
    for _ in range(count):
        audit.capture_log(conn, "a", "INSERT")
        made = audit.seal(conn, key=KEY)
    return made[0]


def be_later(conn: Connection, by: timedelta) -> None:
    """Let time pass for all authorities."""
    conn.execute("update svc.seal_destinations set next_at = next_at - %s", (by,))


def destination(conn: Connection) -> SealDestination:
    [found] = fetch(conn, seal_destinations(has_webhooks=False))
    return found


def stored(conn: Connection) -> dict[int, bytes]:
    return dict(conn.execute("select seal, answer from svc.audit_seal_timestamps order by seal").fetchall())


def verified(conn: Connection, authority: TimestampAuthority, folder: Path | None = None) -> Verification:
    copies = () if folder is None else read_timestamps(folder)
    seals = () if folder is None else read_copies(folder)
    return audit.verify(conn, public_keys=KEY.public, copies=seals, authority=authority, timestamps=copies)


def kinds(found: Verification) -> list[tuple[str, int]]:
    return [(each.kind, each.seal) for each in found.findings]


def tamper(conn: Connection, statement: str, *values: object) -> None:
    """Do what a superuser can."""
    conn.execute("alter table svc.audit_seal_timestamps disable trigger all")
    conn.execute(statement, values)


def test_the_newest_seal_gets_a_timestamp_each_hour_and_openssl_verifies_it(
    db: Connection, timestamps: SealTimestamps, served: Served, tsa: support.TimestampAuthority, trusted: Any
) -> None:
    newest = seal(db, 3)
    timestamps.take(db)
    assert (timestamps.taken, timestamps.problem) == (3, None)
    assert list(stored(db)) == [3]
    assert "Verification: OK" in tsa.verify(newest.text.encode(), stored(db)[3])
    with pytest.raises(subprocess.CalledProcessError):
        tsa.verify(newest.text.encode() + b" ", stored(db)[3])
    assert served.headers[0]["content-type"] == "application/timestamp-query"

    seal(db, 2)
    timestamps.take(db)
    be_later(db, EVERY - timedelta(minutes=2))
    timestamps.take(db)
    assert len(served.queries) == 1  # no second one within an hour
    told = destination(db)
    assert (told.kind, told.last_seal, told.waiting, told.problem) == ("timestamps", 3, 2, None)
    assert told.name == served.url.removeprefix("http://").partition("/")[0]  # without what may be secret

    be_later(db, timedelta(minutes=2))
    timestamps.take(db)
    assert list(stored(db)) == [3, 5]
    assert (destination(db).waiting, destination(db).copied_at is not None) == (0, True)
    timestamps.take(db)
    be_later(db, EVERY)
    timestamps.take(db)
    assert len(served.queries) == 2  # a log without new seals asks for nothing

    found = verified(db, trusted)
    assert (found.findings, found.timestamps) == ([], 2)
    assert found.stamped_seal is not None
    assert found.stamped_seal.number == 5
    assert found.stamped_at is not None
    assert abs(found.stamped_at - datetime.now(UTC)) < timedelta(minutes=5)


def test_only_one_of_several_workers_asks(
    db: Connection, database: str, served: Served, trusted: TimestampAuthority
) -> None:
    seal(db)
    with psycopg.connect(database) as other:  # as the command line connects
        first = SealTimestamps(Authority(served.url, trusted), post)
        second = SealTimestamps(Authority(served.url, trusted), post)

        def posting(url: str, body: bytes, headers: dict[str, str]) -> bytes:
            second.take(other)  # while the first one waits for its answer
            return post(url, body, headers)

        SealTimestamps(Authority(served.url, trusted), posting).take(db)
        first.take(other)
    assert len(served.queries) == 1
    assert list(stored(db)) == [1]


def test_nothing_is_asked_about_a_log_without_seals(db: Connection, timestamps: SealTimestamps, served: Served) -> None:
    timestamps.take(db)
    assert served.queries == []
    assert timestamps.problem is None


def drip(served: Served) -> Answer:
    def bytes_one_by_one() -> Iterator[bytes]:
        while not served.is_ending.wait(0.02):
            yield b"x"

    return 200, {}, bytes_one_by_one()


def flood() -> Answer:
    def megabytes() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * 1_000_000

    return 200, {"Content-Length": "10000000"}, megabytes()


def another_nonce(tsa: support.TimestampAuthority, text: bytes) -> bytes:
    builder = TimestampRequestBuilder(data=text, hash_algorithm=HashAlgorithm.SHA256)
    return tsa.reply(builder.build().as_bytes())


BAD: Final[dict[str, tuple[Callable[[Served, support.TimestampAuthority, Seal, bytes], Answer], str]]] = {
    "http 500": (lambda *_: (500, {}, b""), "it answered 500"),
    "a redirect": (lambda served, *_: (302, {"Location": served.url}, b""), "302; redirects are not followed"),
    "nothing": (lambda *_: (200, {"Content-Length": "0"}, b""), "no answer of a timestamp authority"),
    "a slow drip": (lambda served, *_: drip(served), "no complete response within"),
    "10 MB": (lambda *_: flood(), "it answered more than 16384 bytes"),
    "a page": (lambda *_: (200, {}, b"<html>"), "no answer of a timestamp authority"),
    "a refusal": (lambda _, tsa, *__: (200, {}, tsa.refusal()), "the authority refused: "),
    "another nonce": (lambda _, tsa, seal, __: (200, {}, another_nonce(tsa, seal.text.encode())), "its nonce is"),
    "another imprint": (lambda _, tsa, *__: (200, {}, another_nonce(tsa, b"x")), "its nonce is another"),
    "a certificate for mail": (lambda _, tsa, __, query: (200, {}, tsa.reply_for_mail(query)), "not signed by a trust"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_authority_that_fails_is_told_and_asked_again_later(
    case: str,
    db: Connection,
    timestamps: SealTimestamps,
    served: Served,
    tsa: support.TimestampAuthority,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer, words = BAD[case]
    monkeypatch.setattr(single_post, "_LONGEST", timedelta(seconds=2))
    newest = seal(db)
    served.answer = lambda query: answer(served, tsa, newest, query)
    timestamps.take(db)
    assert stored(db) == {}
    problem = destination(db).problem
    assert problem is not None
    assert words in problem
    assert "secret" not in problem
    assert timestamps.problem is not None
    assert words in timestamps.problem.message

    asked = len(served.queries)
    be_later(db, AGAIN - timedelta(minutes=2))
    timestamps.take(db)
    assert len(served.queries) == asked
    assert destination(db).problem == problem  # it still stands
    served.answer = granted(tsa)
    be_later(db, timedelta(minutes=2))
    timestamps.take(db)
    assert list(stored(db)) == [1]
    assert destination(db).problem is None


def test_an_answer_of_another_text_with_the_nonce_of_the_question_is_refused(
    db: Connection, tsa: support.TimestampAuthority, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    question = question_of(replace(mine, number=2))
    with pytest.raises(BadTimestamp, match="of another text"):
        trusted.time_of(tsa.reply(question.body), mine, nonce=question.nonce)


def test_another_hash_of_the_text_is_refused(
    db: Connection, tsa: support.TimestampAuthority, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    request = TimestampRequestBuilder(data=mine.text.encode(), hash_algorithm=HashAlgorithm.SHA512).build()
    with pytest.raises(BadTimestamp, match="of another text"):
        trusted.time_of(tsa.reply(request.as_bytes()), mine)


def test_an_authority_that_nobody_answers_for_is_told(db: Connection, trusted: TimestampAuthority) -> None:
    seal(db)
    with serving(lambda _: (200, {}, b"")) as gone:
        pass
    timestamps = SealTimestamps(Authority(gone.url, trusted), post)
    timestamps.take(db)
    assert "cannot connect to 127.0.0.1" in (destination(db).problem or "")


def test_a_bug_of_the_client_is_a_problem_and_stops_nothing(db: Connection, trusted: TimestampAuthority) -> None:
    seal(db)

    def broken(*_: object) -> bytes:
        raise RuntimeError("broken")

    SealTimestamps(Authority("http://tsa.example", trusted), broken).take(db)
    assert "it cannot be asked: RuntimeError('broken')" in (destination(db).problem or "")


@pytest.mark.parametrize(
    ("since", "until"),
    [(timedelta(days=-9), timedelta(days=-1)), (timedelta(days=1), timedelta(days=9))],
    ids=["expired", "not yet valid"],
)
def test_a_certificate_that_was_not_valid_then_certifies_nothing(
    db: Connection, ca: Certified, tmp_path: Path, trusted: TimestampAuthority, since: timedelta, until: timedelta
) -> None:
    mine, now = seal(db), datetime.now(UTC).replace(microsecond=0)
    tsa = support.TimestampAuthority.new(tmp_path / "old", ca, since=now + since, until=now + until)
    with pytest.raises(BadTimestamp, match="not signed by a trusted authority"):
        trusted.time_of(tsa.reply(question_of(mine).body), mine)


def test_openssl_verifies_a_timestamp_as_of_a_time_before_its_certificate_ended(
    db: Connection, ca: Certified, tmp_path: Path
) -> None:
    mine, now = seal(db), datetime.now(UTC).replace(microsecond=0)
    ended = now - timedelta(hours=1)
    tsa = support.TimestampAuthority.new(tmp_path / "ended", ca, since=now - timedelta(days=1), until=ended)
    answer = tsa.reply(question_of(mine).body)
    with pytest.raises(subprocess.CalledProcessError):
        tsa.verify(mine.text.encode(), answer)
    before = str(int((ended - timedelta(hours=1)).timestamp()))
    assert "Verification: OK" in tsa.verify(mine.text.encode(), answer, "-attime", before)


def test_another_authority_certifies_nothing(db: Connection, tmp_path: Path, trusted: TimestampAuthority) -> None:
    mine = seal(db)
    for name in ("another", "root"):  # also one of the same name
        tsa = support.TimestampAuthority.new(tmp_path / name, support.root(name))
        with pytest.raises(BadTimestamp, match="not signed by a trusted authority"):
            trusted.time_of(tsa.reply(question_of(mine).body), mine)
        own = TimestampAuthority.read(tsa.ca_file)
        assert own.time_of(tsa.reply(question_of(mine).body), mine) > mine.sealed_at - timedelta(minutes=1)


def test_an_authority_whose_clock_is_wrong_is_refused(
    db: Connection, timestamps: SealTimestamps, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal(db)
    monkeypatch.setattr(seal_timestamps, "TOLERANCE", -timedelta(seconds=1))
    timestamps.take(db)
    assert "its clock differs from the database's: it says 20" in (destination(db).problem or "")
    assert stored(db) == {}


def test_a_timestamp_from_before_its_seal_is_named(
    db: Connection, tsa: support.TimestampAuthority, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    later = replace(mine, sealed_at=mine.sealed_at + timedelta(minutes=6))
    with pytest.raises(BadTimestamp, match="is before that of the seal") as caught:
        trusted.time_of(tsa.reply(question_of(later).body), later)
    assert caught.value.kind == "timestamp_early"


def test_each_byte_of_a_timestamp_counts(
    db: Connection, tsa: support.TimestampAuthority, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    answer = tsa.reply(question_of(mine).body)
    time = trusted.time_of(answer, mine)
    refused = 0
    for place in range(0, len(answer), 7):
        changed = answer[:place] + bytes([answer[place] ^ 1]) + answer[place + 1 :]
        try:
            assert trusted.time_of(changed, mine) == time  # of a byte that nothing signs, such as of the certificates
        except BadTimestamp:
            refused += 1
    assert refused > len(answer) / 7 / 2
    for length in range(0, len(answer), 50):
        with pytest.raises(BadTimestamp):
            trusted.time_of(answer[:length], mine)


def test_verify_names_what_is_wrong_with_timestamps(
    db: Connection,
    timestamps: SealTimestamps,
    trusted: TimestampAuthority,
    tsa: support.TimestampAuthority,
    tmp_path: Path,
) -> None:
    for _ in range(6):
        seal(db)
        timestamps.take(db)
        be_later(db, EVERY)
    good = stored(db)
    assert len(good) == 6
    folder = tmp_path / "copies"
    folder.mkdir()
    copy(db, folder)
    assert verified(db, trusted, folder).timestamps == 6

    another = support.TimestampAuthority.new(tmp_path / "another", support.root("another"))
    seals = {each.number: each for each in audit.seals(db)}
    tamper(db, "update svc.audit_seal_timestamps set answer = %s where seal = 1", good[2])
    tamper(db, "update svc.audit_seal_timestamps set answer = %s where seal = 2", b"nothing")
    foreign = another.reply(question_of(seals[3]).body)
    tamper(db, "update svc.audit_seal_timestamps set answer = %s where seal = 3", foreign)
    tamper(db, "delete from svc.audit_seal_timestamps where seal = 4")
    later = tsa.reply(question_of(seals[5]).body)
    tamper(db, "update svc.audit_seal_timestamps set answer = %s where seal = 5", later)
    tamper(db, "insert into svc.audit_seal_timestamps (seal, answer) values (99, %s)", good[6])

    found = verified(db, trusted, folder)
    assert kinds(found) == [
        ("timestamp_exchanged", 1),
        ("timestamp_forged", 2),
        ("timestamp_forged", 3),
        ("timestamp_missing", 4),
        ("timestamp_exchanged", 5),
        ("timestamp_foreign", 99),
    ]
    assert [each.message for each in found.findings][3:] == [
        "the timestamp of seal 4 is missing: the copies have it",
        "the timestamp of seal 5 is not the one of the copies",
        "the timestamp of seal 99 is of no seal of this log",
    ]
    assert kinds(verified(db, trusted)) == [  # without copies nobody knows of the one that was removed
        ("timestamp_exchanged", 1),
        ("timestamp_forged", 2),
        ("timestamp_forged", 3),
        ("timestamp_foreign", 99),
    ]
    assert verified(db, TimestampAuthority([support.root().certificate]), None).timestamps == 0
    assert audit.verify(db, public_keys=KEY.public).timestamps is None  # without an authority none is read


def test_a_forged_timestamp_of_a_seal_to_come_keeps_no_seal_from_its_own(
    db: Connection, timestamps: SealTimestamps
) -> None:
    seal(db)
    tamper(db, "insert into svc.audit_seal_timestamps (seal, answer) values (99, %s)", b"forged")
    timestamps.take(db)
    assert timestamps.taken == 1


def test_a_log_without_any_timestamp_is_named(db: Connection, trusted: TimestampAuthority) -> None:
    seal(db, 2)
    assert kinds(verified(db, trusted)) == [("timestamp_missing", 2)]


def test_a_seal_that_somebody_with_the_key_signed_anew_does_not_fit_its_timestamp(
    db: Connection, timestamps: SealTimestamps, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    timestamps.take(db)
    with db.transaction():
        db.execute("alter table svc.audit_seals disable trigger all")
        forged = replace(mine, sealed_at=mine.sealed_at - timedelta(minutes=1))
        db.execute(
            "update svc.audit_seals set sealed_at = %s, signature = %s", (forged.sealed_at, KEY.sign(forged.text))
        )
    assert audit.verify(db, public_keys=KEY.public).is_intact
    assert kinds(verified(db, trusted)) == [("timestamp_exchanged", 1)]


def be_dated_back(conn: Connection, *, after: int, each: timedelta) -> None:
    """Sign the seals after one anew, as of earlier times that lie as far apart, as somebody with the key can."""
    conn.execute("alter table svc.audit_seals disable trigger all")
    seals = [*reversed(audit.seals(conn))]
    previous = seals[0].previous if not after else seals[after - 1].digest
    for place, old in enumerate(seals[after:]):
        time = seals[-1].sealed_at - (len(seals) - after - place) * each
        forged = replace(old, sealed_at=time, previous=previous)
        previous = forged.digest
        conn.execute(
            "update svc.audit_seals set sealed_at = %s, previous = %s, signature = %s where number = %s",
            (forged.sealed_at, forged.previous, KEY.sign(forged.text), forged.number),
        )


def test_a_log_that_was_dated_back_and_stamped_once_does_not_look_like_one_that_was_stamped_in_time(
    db: Connection, timestamps: SealTimestamps, trusted: TimestampAuthority
) -> None:
    seal(db)
    timestamps.take(db)
    seal(db, 4)
    be_later(db, EVERY)
    timestamps.take(db)
    honest = verified(db, trusted)
    assert honest.is_intact
    assert honest.first_delay is not None
    assert honest.later_delay is not None
    assert max(honest.first_delay.delay, honest.later_delay.delay) < timedelta(minutes=5)

    tamper(db, "delete from svc.audit_seal_timestamps")
    db.execute("delete from svc.seal_destinations")
    be_dated_back(db, after=0, each=timedelta(days=74))
    timestamps.take(db)
    assert timestamps.taken == 5
    forged = verified(db, trusted)
    assert forged.timestamps == 1
    assert forged.first_delay is not None
    assert (forged.first_delay.seal.number, forged.first_delay.delay > timedelta(days=369)) == (1, True)
    assert (forged.first_stamped and forged.first_stamped.number, forged.later_delay) == (5, None)
    words = [*stamp_words(forged, STAMPED_WITHIN)]
    said = r"The first timestamp came (369|370)d after the time that seal 1 says: nothing proves when the seals up to 5"
    assert re.match(said, words[1])
    assert not any("within" in each for each in words)


def test_seals_after_a_timestamp_that_were_dated_back_are_named(
    db: Connection, timestamps: SealTimestamps, trusted: TimestampAuthority
) -> None:
    seal(db)
    timestamps.take(db)
    seal(db, 3)
    be_later(db, EVERY)
    be_dated_back(db, after=1, each=timedelta(hours=20))
    timestamps.take(db)
    found = verified(db, trusted)
    assert kinds(found) == [("timestamp_late", 2)]
    assert "its first timestamp is of 2d later" in found.findings[0].message
    assert found.later_delay is not None
    assert found.later_delay.seal.number == 2
    wide = audit.verify(db, public_keys=KEY.public, authority=trusted, stamped_within=timedelta(days=3))
    assert (wide.is_intact, wide.later_delay) == (True, found.later_delay)  # after an outage that somebody knows of


def test_seals_that_got_no_timestamp_while_newer_ones_came_are_named(
    db: Connection, timestamps: SealTimestamps, trusted: TimestampAuthority
) -> None:
    seal(db)
    timestamps.take(db)
    seal(db, 3)
    be_dated_back(db, after=1, each=timedelta(hours=1))
    assert verified(db, trusted).is_intact  # the next one will come
    be_dated_back(db, after=1, each=timedelta(hours=20))
    found = verified(db, trusted)
    assert kinds(found) == [("timestamp_late", 2)]
    assert "has a timestamp" in found.findings[0].message


def test_timestamps_that_nobody_verified_are_counted_and_recorded(
    db: Connection, timestamps: SealTimestamps, trusted: TimestampAuthority, tmp_path: Path
) -> None:
    seal(db)
    timestamps.take(db)
    copy(db, tmp_path)
    found = audit.verify(db, public_keys=KEY.public)
    assert (found.timestamps, found.unverified_timestamps) == (None, 1)
    assert "1 timestamp was not verified: SVC_SEAL_TIMESTAMP_CA" in "".join(stamp_words(found, STAMPED_WITHIN))
    last = audit.last_verification(db)
    assert last is not None
    assert (last.timestamps, last.unverified_timestamps) == (None, 1)
    verified(db, trusted)
    last = audit.last_verification(db)
    assert last is not None
    assert (last.timestamps, last.unverified_timestamps) == (1, 0)
    tamper(db, "delete from svc.audit_seal_timestamps")
    copies = read_timestamps(tmp_path)
    assert audit.verify(db, public_keys=KEY.public, timestamps=copies).unverified_timestamps == 1


def test_copies_of_timestamps_are_read_one_at_a_time_and_only_until_there_are_too_many_findings(
    db: Connection, trusted: TimestampAuthority
) -> None:
    seal(db)
    read = []

    def copies() -> Iterator[tuple[int, bytes]]:
        for number in range(2, 100_000):
            read.append(number)
            yield number, b"made up"

    found = audit.verify(db, public_keys=KEY.public, authority=trusted, timestamps=copies())
    assert len(found.findings) == 1000
    assert len(read) < 1010


def test_a_seal_whose_timestamp_is_garbage_is_told(db: Connection, timestamps: SealTimestamps, served: Served) -> None:
    seal(db)
    assert add_timestamp(db, 1, b"garbage")  # as svc_admin can
    for _ in range(2):
        timestamps.take(db)
        told = destination(db)
        assert (told.last_seal, told.waiting, told.copied_at) == (None, 1, None)
        assert told.problem == "the timestamp of seal 1 is not good"
    seal(db)
    timestamps.take(db)
    assert (timestamps.taken, destination(db).problem, len(served.queries)) == (2, None, 1)


def test_an_answer_that_was_not_kept_is_told(db: Connection, trusted: TimestampAuthority, served: Served) -> None:
    seal(db)

    def posting(url: str, body: bytes, headers: dict[str, str]) -> bytes:
        assert add_timestamp(db, 1, b"garbage")
        return post(url, body, headers)

    stamping = SealTimestamps(Authority(served.url, trusted), posting)
    stamping.take(db)
    assert stamping.taken is None
    assert destination(db).problem == "somebody else kept a timestamp of seal 1"


def test_a_wait_that_is_none_of_ours_keeps_nobody_from_asking(db: Connection, timestamps: SealTimestamps) -> None:
    seal(db)
    db.execute(
        "insert into svc.seal_destinations (name, kind, next_at) values (%s, 'timestamps', now() + interval '9 years')",
        (timestamps.name,),
    )
    timestamps.take(db)
    assert timestamps.taken == 1


def test_an_authority_that_does_not_answer_holds_up_no_stop(db: Connection, trusted: TimestampAuthority) -> None:
    seal(db)
    is_asked, may_answer = threading.Event(), threading.Event()

    def posting(*_: object) -> bytes:
        is_asked.set()
        may_answer.wait(30)
        return b""

    began = time.monotonic()
    with pytest.raises(InterruptedError):
        SealTimestamps(Authority("http://tsa.example", trusted), posting).take(db, is_asked.is_set)
    may_answer.set()
    assert time.monotonic() - began < 15


def test_certificates_that_are_missing_are_told_and_read_when_they_are_there(
    db: Connection, served: Served, tsa: support.TimestampAuthority, tmp_path: Path
) -> None:
    seal(db)
    for certificates, words in ((None, "SVC_SEAL_TIMESTAMP_CA is not set"), (tmp_path / "ca.pem", "cannot be read")):
        stamping = SealTimestamps(Authority(served.url, certificates), post)
        stamping.take(db)
        assert words in (destination(db).problem or "")
        assert stamping.problem is not None
    tmp_path.joinpath("ca.pem").write_bytes(tsa.ca_file.read_bytes())
    stamping.take(db)
    assert stamping.taken == 1


def test_an_answer_with_changes_is_refused_in_its_own_words(
    db: Connection, tsa: support.TimestampAuthority, trusted: TimestampAuthority
) -> None:
    mine = seal(db)
    answer = tsa.reply(question_of(mine).body)
    granted_, changed = b"\x30\x03\x02\x01\x00", b"\x30\x03\x02\x01\x01"
    assert answer[4:9] == granted_
    with pytest.raises(BadTimestamp, match="the authority changed the request: status 1"):
        trusted.time_of(answer[:4] + changed + answer[9:], mine)


def test_a_forged_timestamp_of_a_seal_to_come_keeps_none_from_the_copies(
    db: Connection, timestamps: SealTimestamps, tmp_path: Path
) -> None:
    seal(db)
    tamper(db, "insert into svc.audit_seal_timestamps (seal, answer) values (%s, %s)", 10**15, b"forged")
    copies = SealCopies(tmp_path)
    for number in (1, 2):
        timestamps.take(db)
        copies.look(db)
        copies.write(db)
        assert [each for each, _ in read_timestamps(tmp_path)] == [*range(1, number + 1)]
        be_later(db, EVERY)
        seal(db)


def copy(conn: Connection, path: Path) -> None:
    with appending(path) as copies:
        append_new(conn, copies)
        for page in lacking_timestamps(conn, copies.timestamps(), 2**62):
            copies.append_timestamps(page)


def test_a_folder_of_copies_has_the_timestamps_and_openssl_verifies_them(
    db: Connection, timestamps: SealTimestamps, tsa: support.TimestampAuthority, tmp_path: Path
) -> None:
    mine = seal(db)
    timestamps.take(db)
    copy(db, tmp_path)
    copy(db, tmp_path)
    file = tmp_path / timestamp_name_of(1)
    assert [*read_timestamps(tmp_path)] == [(1, file.read_bytes())]
    assert "OK" in tsa.verify(mine.text.encode(), file.read_bytes())
    assert file.stat().st_mode & 0o777 == 0o444
    assert sorted(each.suffix for each in tmp_path.iterdir()) == [".json", ".tsr"]

    file.unlink()
    file.write_bytes(b"other")
    with appending(tmp_path) as copies, pytest.raises(ProofError, match="is not the timestamp of seal 1"):
        copies.append_timestamps([(1, stored(db)[1])])
    assert file.read_bytes() == b"other"
    file.write_bytes(b"x" * 20_000)
    with pytest.raises(ProofError, match=r"\.tsr is damaged"):
        [*read_timestamps(tmp_path)]


def test_a_file_of_copies_has_no_timestamps(db: Connection, timestamps: SealTimestamps, tmp_path: Path) -> None:
    seal(db)
    timestamps.take(db)
    file = tmp_path / "seals"
    copy(db, file)
    assert len([*read_copies(file)]) == 1
    assert [*read_timestamps(file)] == []


def test_a_copy_of_a_timestamp_that_is_not_good_does_not_say_that_one_is_missing(
    db: Connection, trusted: TimestampAuthority, timestamps: SealTimestamps, tmp_path: Path
) -> None:
    seal(db)
    copy(db, tmp_path)
    timestamps.take(db)
    seal(db)
    copy(db, tmp_path)
    tmp_path.joinpath(timestamp_name_of(2)).write_bytes(b"made up")
    found = verified(db, trusted, tmp_path)
    assert kinds(found) == [("timestamp_forged", 2)]
    assert "the copy of the timestamp of seal 2 is not good" in found.findings[0].message


def test_a_timestamp_is_never_replaced_and_a_role_that_reads_adds_none(db: Connection) -> None:
    seal(db)
    assert add_timestamp(db, 1, b"a")
    assert not add_timestamp(db, 1, b"b")
    assert not add_timestamp(db, 2, b"c")
    assert stored(db) == {1: b"a"}
    last = last_timestamp(db, 9)
    assert (last and last.seal) == 1
    for answer in (b"", bytes(16_385)):
        seal(db)
        with pytest.raises(psycopg.errors.CheckViolation):
            add_timestamp(db, audit.seals(db)[0].number, answer)


def test_certificates_that_cannot_be_used_are_refused_in_words(tmp_path: Path, tsa: support.TimestampAuthority) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    for path, words in (
        (tmp_path / "gone.pem", "gone.pem cannot be read: No such file"),
        (nothing, "has no certificates in PEM"),
        (tsa.folder / "signer.pem", "there is no root certificate"),
    ):
        with pytest.raises(ConfigError, match=words):
            TimestampAuthority.read(path)


def test_a_proxy_that_is_gone_is_told_in_its_own_words(served: Served) -> None:
    with serving(lambda _: (200, {}, b"")) as gone:
        pass
    proxy = gone.url.partition("/tsa")[0]
    with pytest.raises(SvcError, match="the proxy"):
        partial(post, proxy=proxy)(served.url, b"", {})
