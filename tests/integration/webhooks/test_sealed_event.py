"""The event audit.sealed carries a copy of each seal to whoever subscribes to it by name, in its transaction."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from pydantic import ValidationError

from svc_pg import audit, schema, webhooks
from svc_pg.audit import SealKey
from svc_pg.config import Config
from svc_pg.database.conninfo import Conninfo
from svc_pg.database.query import fetch, scalar
from svc_pg.errors import SvcError
from svc_pg.seals.verification.seal import Seal
from svc_pg.status.seal_destinations import (
    SealDestination,
    last_seal_at,
    note_destination,
    seal_destinations,
)
from svc_pg.webhooks.worker.database_state import StateReader
from svc_pg.webhooks.worker.prometheus import exposition
from svc_pg.webhooks.worker.statistics import Statistics
from tests.integration.webhooks.test_operational_events import CONFIG, Connection, attempt, new
from tests.support.hooks import install
from tests.support.postgres import Prepare

KEY: Final = SealKey("s1", b"k" * 32)
URL: Final = "https://notary.example/seals"


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    return lambda conninfo: install(conninfo, CONFIG)


@pytest.fixture
def db(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


def seal(conn: Connection) -> Seal:
    audit.capture_log(conn, "a", "INSERT")
    [made] = audit.seal(conn, key=KEY)
    return made


def sent(conn: Connection) -> list[Any]:
    """The data of the events, the oldest first."""
    text = "select payload from svc.webhook_messages where event_name = 'audit.sealed' order by id"
    return [payload for (payload,) in conn.execute(text)]


def destinations(conn: Connection) -> list[SealDestination]:
    return fetch(conn, seal_destinations(has_webhooks=True))


def test_each_seal_is_sent_as_a_copy_and_its_state_is_told(db: Connection) -> None:
    endpoint = new(db, f"{URL}?token=hush", "audit.sealed")
    assert [(each.kind, each.name, each.waiting) for each in destinations(db)] == [
        ("endpoint", f"notary.example {endpoint}", 0)
    ]
    made = [seal(db), seal(db)]
    data = sent(db)
    assert [each["number"] for each in data] == [1, 2]
    assert [Seal.of_copy(each) for each in data] == made
    copies = [Seal.of_copy(json.loads(json.dumps(each))) for each in data]
    assert audit.verify(db, public_keys=KEY.public, copies=copies).is_intact
    [state] = destinations(db)
    assert (state.last_seal, state.waiting, state.copied_at) == (None, 2, None)
    attempt(db, endpoint)
    assert destinations(db)[0].problem is not None
    db.execute("update svc.webhook_deliveries set next_attempt_at = now() where status = 'pending'")
    attempt(db, endpoint, "delivered")
    [state] = destinations(db)
    assert (state.last_seal, state.waiting, state.problem) == (2, 0, None)
    assert state.copied_at is not None


@pytest.mark.parametrize(
    ("events", "options", "count"),
    [
        (["*"], {}, 0),
        (["order.*", "webhook.*"], {}, 0),
        (["audit.sealed"], {"tenant": "acme"}, 0),
        (["audit.*"], {}, 1),
        (["audit.sealed", "*"], {}, 1),
    ],
)
def test_it_goes_only_to_who_asks_for_it(
    db: Connection, events: list[str], options: dict[str, Any], count: int
) -> None:
    new(db, URL, *events, **options)
    seal(db)
    assert len(sent(db)) == scalar(db, "select count(*) from svc.webhook_deliveries") == count


def test_old_messages_of_this_name_of_an_application_are_not_counted(db: Connection) -> None:
    endpoint = new(db, URL, "audit.sealed")
    made = seal(db)
    for payload in ('{"number":"INV-7"}', '{"number":"\\u0000"}', "[]", '{"number": 99999999999999999999, "text": ""}'):
        db.execute(
            "with m as (insert into svc.webhook_messages (id, event_name, payload)"
            " values (svc.webhook_uuid7(), 'audit.sealed', %s::json) returning id)"
            " select svc.webhook_deliver(array[m.id], 'audit.sealed', '{audit.sealed}', '0') from m",
            (payload,),
        )
    assert scalar(db, "select count(*) from svc.webhook_messages") == 5
    [state] = destinations(db)
    assert (state.name.split()[1], state.last_seal, state.waiting) == (str(endpoint), None, made.number)


def test_two_endpoints_that_differ_by_their_query_have_names_of_their_own(db: Connection) -> None:
    for query in ("a", "b"):
        new(db, f"https://notary.example:8443/T0/secret?{query}", "audit.sealed")
    names = [each.name for each in destinations(db)]
    assert len({*names}) == 2
    assert {name.partition(" ")[0] for name in names} == {"notary.example:8443"}


def test_destinations_that_cannot_be_read_leave_the_other_metrics(db: Connection, database: str) -> None:
    db.execute("alter table svc.seal_destinations rename to hidden")
    state = asyncio.run(StateReader(Conninfo.parse(database)).state())
    assert state is not None
    assert state.destinations is None
    assert state.backlog is not None
    text = exposition(Statistics(), state, accept="")[0].decode()
    assert "svc_audit_unsettled_transactions" in text
    assert "svc_audit_seals_without_copy" not in text


def test_files_and_folders_are_told_for_two_hours_the_newest_first(db: Connection) -> None:
    for name in ("/old", "/a", "/b"):
        note_destination(db, name, last_seal=7, problem="\udcff is gone")
    db.execute("update svc.seal_destinations set seen_at = seen_at - interval '121 minutes' where name = '/old'")
    assert [each.name for each in destinations(db)] == ["/b", "/a"]
    assert destinations(db)[0].problem == r"\udcff is gone"
    assert last_seal_at(db, "/old") == 7


def test_a_pruning_install_keeps_the_own_types_and_adds_those_that_are_missing(db: Connection) -> None:
    own = "select name, description, schema, patterns from svc.webhook_event_types where name = 'audit.sealed'"
    [before] = db.execute(own).fetchall()
    changes = (
        "delete from svc.webhook_event_types where name = 'audit.sealed'",
        "update svc.webhook_event_types set patterns = svc.webhook_patterns(name), description = 'theirs'"
        " where name = 'audit.sealed'",
    )
    for change in changes:
        db.execute(change)
        schema.install(db, CONFIG, prune=True)
        [(name, description, no_schema, patterns)] = db.execute(own).fetchall()
        assert (name, description, no_schema, {*patterns}) == (*before[:3], {*before[3]})
        assert {step.state for step in schema.status(db, CONFIG) if step.kind == "event"} == {"ok"}


def test_a_seal_that_is_not_added_sends_nothing(db: Connection) -> None:
    new(db, URL, "audit.sealed")
    db.execute("alter table svc.audit_seal_leaves add check (seal < 2)")
    seal(db)
    with pytest.raises(psycopg.errors.CheckViolation):
        seal(db)
    assert [each["number"] for each in sent(db)] == [1]


def test_nobody_else_can_send_or_define_it(db: Connection) -> None:
    for name in ("audit.sealed", "webhook.endpoint.failing"):
        with pytest.raises(SvcError, match="is sent by svc-pg itself"):
            webhooks.send(db, name, {})
        with pytest.raises(SvcError, match="is sent by svc-pg itself"):
            webhooks.send_many(db, name, [{}])
    with pytest.raises(ValidationError, match=r'"audit.sealed" is an event of svc-pg itself'):
        Config.model_validate({"webhooks": {"events": {"audit.sealed": {}}}})
    assert scalar(db, "select count(*) from svc.webhook_messages") == 0
