"""The tables of signing in, by themselves: their states, who may read them, and that they do not grow."""

from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from svc_pg.database.query import scalar

HASH = b"\x01" * 32
LINK: LiteralString = """
insert into svc.console_magic_links
       (session_id, email, device_hash, code_hash, max_attempts, expires_at, status, failed_attempts, verified_at,
        claimed_at)
values (gen_random_uuid(), 'ann@corp.example', %(device)s, %(code)s, %(max)s, now() + interval '1 min', %(status)s,
        %(failed)s, %(verified)s, %(claimed)s)
"""
PENDING = {
    "device": HASH, "code": HASH, "max": 5, "status": "pending", "failed": 0, "verified": None, "claimed": None
}  # fmt: skip
NOW = "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"failed": 4},
        {"status": "verified", "verified": NOW, "failed": 4},
        {"status": "claimed", "verified": NOW, "claimed": NOW},
        {"status": "locked", "failed": 5},
    ],
    ids=str,
)
def test_a_link_can_be_in_each_of_its_states(conn: psycopg.Connection[Any], change: dict[str, object]) -> None:
    assert conn.execute(LINK, PENDING | change).rowcount == 1


@pytest.mark.parametrize(
    "change",
    [
        {"status": "expired"},
        {"status": "verified"},
        {"status": "claimed", "verified": NOW},
        {"status": "claimed", "claimed": NOW},
        {"status": "locked", "failed": 4},
        {"failed": 5},
        {"failed": 6},
        {"failed": -1},
        {"verified": NOW},
        {"claimed": NOW},
        {"status": "locked", "failed": 5, "verified": NOW},
        {"max": 0},
        {"device": b"short"},
        {"code": b"short"},
    ],
    ids=str,
)
def test_a_link_cannot_contradict_its_state(conn: psycopg.Connection[Any], change: dict[str, object]) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute(LINK, PENDING | change)


def test_a_token_belongs_to_one_session(conn: psycopg.Connection[Any]) -> None:
    statement: LiteralString = """
        insert into svc.console_sessions (id, email, permission, token_hash, expires_at)
        values (gen_random_uuid(), 'ann@corp.example', 'read', %s, now() + interval '1 h')
    """
    conn.execute(statement, (HASH,))
    with pytest.raises(psycopg.errors.UniqueViolation):
        conn.execute(statement, (HASH,))


# Counting


def hit(conn: psycopg.Connection[Any], *, weight: int = 1) -> int | None:
    found: int | None = scalar(conn, "select svc.console_hit('test', 2, '1 min', %s)", (weight,))
    return found


def test_a_window_begins_with_the_first_and_ends_for_all(conn: psycopg.Connection[Any]) -> None:
    assert [hit(conn) for _ in range(4)] == [None, None, 60, 60]
    conn.execute("update svc.console_rate set ends_at = now() + interval '1.2 s'")
    assert hit(conn) == 2
    conn.execute("update svc.console_rate set ends_at = now()")
    assert [hit(conn) for _ in range(3)] == [None, None, 60]


def test_without_weight_nothing_is_counted(conn: psycopg.Connection[Any]) -> None:
    assert [hit(conn, weight=0) for _ in range(5)] == [None] * 5
    assert [hit(conn) for _ in range(3)] == [None, None, 60]


@pytest.mark.parametrize(
    ("ip", "network"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        (None, "unknown"),
    ],
)
def test_limits_count_hosts_of_ipv4_and_networks_of_ipv6(
    conn: psycopg.Connection[Any], ip: str | None, network: str
) -> None:
    assert scalar(conn, "select svc.console_network(%s::inet)", (ip,)) == network


# Growing


OLD: LiteralString = """
insert into svc.console_magic_links (session_id, email, device_hash, code_hash, max_attempts, created_at, expires_at)
select gen_random_uuid(), age, sha256('1'), sha256('1'), 5, now() - age::interval, now() - age::interval + '10 min'
  from unnest(array['23 h', '25 h', '48 h']) age;
insert into svc.console_rate (key, hits, ends_at)
values ('open', 1, now() + interval '1 s'), ('over', 1, now() - interval '1 s');
insert into svc.console_sessions (id, email, permission, token_hash, created_at, expires_at, revoked_at, revoked_by)
select gen_random_uuid(), name, 'read', sha256(name::bytea), now() - interval '1 year', now() + expires,
       now() + revoked,
       case when revoked < '0' then 'ann' end
  from (values ('live', interval '1 h', null::interval), ('ended', '-89 days', null), ('over', '-91 days', null),
               ('revoked', '9 days', '-91 days')) session (name, expires, revoked);
insert into svc.console_tokens
    (id, name, permission, token_hash, created_by, created_at, expires_at, revoked_at, revoked_by)
select gen_random_uuid(), name, 'read', sha256(name::bytea), 'ann', now() - interval '1 year', now() + expires,
       now() + revoked,
       case when revoked < '0' then 'ann' end
  from (values ('live', interval '1 h', null::interval), ('ended', '-89 days', null),
               ('revoked', '9 days', '-91 days')) token (name, expires, revoked);
insert into svc.console_uses (id, used_at)
select id, now() - interval '91 days' from svc.console_tokens
 union all select gen_random_uuid(), now() - interval '1 y';
insert into svc.console_forms (digest, session_hash, sent_at)
select sha256(n::text::bytea), sha256('s'), now() - interval '23 h' - n * interval '30 min'
  from generate_series(1, 3) n;
insert into svc.console_events (event, session_id, email, occurred_at)
values ('signed_in', gen_random_uuid(), 'new', now() - interval '89 days'),
       ('signed_in', gen_random_uuid(), 'old', now() - interval '91 days');
"""


def emails(conn: psycopg.Connection[Any], table: str) -> set[str]:
    text = sql.SQL("select email from svc.{}").format(sql.Identifier(table))
    return {email for (email,) in conn.execute(text)}


def test_prune_removes_what_nobody_needs_and_nothing_else(conn: psycopg.Connection[Any]) -> None:
    conn.execute(OLD)
    assert conn.execute("select * from svc.console_prune()").fetchone() == (2, 2, 2, 1, 1)
    assert scalar(conn, "select count(*) from svc.console_forms") == 2
    assert emails(conn, "console_magic_links") == {"23 h"}
    assert emails(conn, "console_sessions") == {"live", "ended"}
    assert emails(conn, "console_events") == {"new"}
    names = {
        name for (name,) in conn.execute("select t.name from svc.console_tokens t join svc.console_uses using (id)")
    }
    assert names == {"live", "ended"}
    assert scalar(conn, "select count(*) from svc.console_uses") == 2
    assert conn.execute("select * from svc.console_prune()").fetchone() == (0, 0, 0, 0, 0)


def test_prune_removes_a_few_at_a_time(conn: psycopg.Connection[Any]) -> None:
    conn.execute(OLD)
    assert conn.execute("select * from svc.console_prune(1)").fetchone() == (1, 2, 1, 1, 1)


def test_a_session_keeps_its_last_thousand_forms_and_those_of_others(conn: psycopg.Connection[Any]) -> None:
    conn.execute(
        "insert into svc.console_forms (digest, session_hash, sent_at)"
        " select sha256((s || n)::bytea), sha256(s::bytea), now() - n * interval '1 s'"
        "   from generate_series(1, 1000) n, unnest(array['a', 'b']) s"
    )
    assert scalar(conn, "select svc.console_form(sha256('new'), sha256('a'))") is None
    kept = conn.execute("select count(*) from svc.console_forms group by session_hash order by 1").fetchall()
    assert kept == [(1000,), (1000,)]
    assert scalar(conn, "select svc.console_form(sha256('a999'), sha256('a'))") == ""
    assert scalar(conn, "select svc.console_form(sha256('a1000'), sha256('a'))") is None, "it was the oldest"


INIT: LiteralString = """
select svc.console_init(gen_random_uuid(), 'ann@corp.example', true, false, sha256('1'), sha256('2'), sha256('3'), 5,
                        null, null, null)
"""


def test_a_sign_in_prunes_by_the_way_every_ten_minutes(conn: psycopg.Connection[Any]) -> None:
    conn.execute(OLD)
    conn.execute(INIT)
    assert emails(conn, "console_magic_links") == {"23 h", "ann@corp.example"}
    conn.execute("update svc.console_magic_links set created_at = now() - interval '2 days'")
    conn.execute(INIT)
    assert scalar(conn, "select count(*) from svc.console_magic_links") == 3
    conn.execute("update svc.console_rate set ends_at = now() where key = 'prune'")
    conn.execute(INIT)
    assert scalar(conn, "select count(*) from svc.console_magic_links") == 2


# Rights


def allowed(conn: psycopg.Connection[Any], role: str, statement: LiteralString) -> bool:
    with conn.transaction(force_rollback=True):
        conn.execute(sql.SQL("set local role {}").format(sql.Identifier(role)))
        try:
            conn.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return False
        return True


@pytest.mark.parametrize(
    ("statement", "reader"),
    [
        ("select * from svc.console_events", True),
        ("select id, email, permission, tenant, ip, user_agent, created_at, expires_at, idle_timeout, revoked_at,"
         "       revoked_by from svc.console_sessions", True),
        ("select id, name, permission, tenant, created_at, created_by, expires_at, revoked_at, revoked_by"
         "  from svc.console_tokens", True),
        ("select * from svc.console_uses", True),
        ("select token_hash from svc.console_tokens", False),
        ("select svc.console_token('')", False),
        ("select svc.console_revoke_token(gen_random_uuid())", False),
        ("select svc.console_link(gen_random_uuid(), 'a@b.example', sha256(''), sha256(''), '1 s')", False),
        ("select token_hash from svc.console_sessions", False),
        ("select * from svc.console_sessions", False),
        ("select session_id from svc.console_magic_links", False),
        ("select code_hash from svc.console_magic_links", False),
        ("select device_hash from svc.console_magic_links", False),
        ("select * from svc.console_rate", False),
        ("select * from svc.console_forms", False),
        ("select svc.console_form(sha256(''), sha256(''))", False),
        ("select svc.console_session('')", False),
        ("select svc.console_revoke(gen_random_uuid())", False),
        ("select svc.console_prune()", False),
        ("delete from svc.console_events", False),
    ],
)  # fmt: skip
def test_a_reader_sees_who_signed_in_and_no_hash_and_an_administrator_everything(
    conn: psycopg.Connection[Any],
    statement: LiteralString,
    reader: bool,  # noqa: FBT001
) -> None:
    assert allowed(conn, "svc_reader", statement) is reader
    assert allowed(conn, "svc_admin", statement)
    assert not allowed(conn, "svc_sender", statement)
    assert not allowed(conn, "svc_writer", statement)
