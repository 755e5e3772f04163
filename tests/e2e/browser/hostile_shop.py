"""A shop with a console and a database full of hostile texts, for tests in a browser."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from svc_pg import Config, audit, schema, webhooks
from svc_pg.config import AuditConfig, AuditedTable, EventDefinition, WebhooksConfig
from svc_pg.console import Console, register_tenants
from svc_pg.console.database import pool as database
from svc_pg.console.http import tokens
from svc_pg.database.query import fetch_one
from svc_pg.settings import Permission, Settings
from svc_pg.webhooks.endpoints import endpoint_queries as endpoints
from svc_pg.webhooks.http.guard import Guard
from tests.integration.console.serving import KEY, PREFIX, serving
from tests.support.hooks import KEYS, KEYS_TEXT, working
from tests.support.raw_receiver import OK, in_a_thread, read_request
from tests.support.smtp import PostOffice, post_office
from tests.support.waiting import wait_until

HOSTILE: Final = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)><x-planted id=planted hx-get=/planted onclick=alert(3)>"
    "{{7*7}}${7*7}<!--\u2069\u202e\u0645\u0631\u062d\u0628\u0627\u2066 👩‍👩‍👧 a\u0301\u0301 %00%0d%0aSet-Cookie:a=b"
)
ADDRESS: Final = "javascript:alert(4)//https://shop.example"
UNBROKEN: Final = "W" * 300
HUGE: Final = HOSTILE * (2**20 // len(HOSTILE.encode()) + 1)
"""More than 1 MB."""
TURNED: Final = "\u0645\u0631\u062d\u0628\u0627"
"""Letters of a script written from right to left."""
TABLE: Final = f'<b hx-get=/planted>"{TURNED}'
_INSERT: Final = sql.SQL("insert into {table} values (%s, %s)").format(table=sql.Identifier(TABLE))
SEAL_KEY: Final = audit.SealKey("s1", b"k" * 32)
TERM: Final = "Initech"
"""A search term with results."""
CONFIG: Final = Config(
    audit=AuditConfig(
        tables=[
            AuditedTable(name="public.customer", redact=["password_hash"]),
            AuditedTable(name="public.orders"),
            AuditedTable(name=f'public."<b hx-get=/planted>""{TURNED}"'),
        ]
    ),
    webhooks=WebhooksConfig(
        allow_http=True,
        allow_cidrs=["127.0.0.0/8"],
        allow_for_customers=True,
        retry=[timedelta(milliseconds=20)] * 2,
        events={
            "order.placed": EventDefinition(
                description="A customer has placed an order",
                json_schema={"type": "object", "description": HOSTILE, "properties": {HOSTILE: {"type": "string"}}},
            ),
            "order.shipped": EventDefinition(description=HOSTILE),
        },
    ),
)
EMAILS: Final[dict[str, Permission]] = {
    "ann@corp.example": "admin",
    "wim@corp.example": "write",
    "rea@corp.example": "read",
    "*@mail.example": "admin",
}
_REFUSAL: Final = (HOSTILE * 20).encode()
_REFUSED: Final = b"HTTP/1.1 500 %b\r\nContent-Type: text/html\r\nX-Why: %b\r\nContent-Length: %d\r\n\r\n%b" % (
    HOSTILE[:60].encode(),
    HOSTILE[:60].encode(),
    len(_REFUSAL),
    _REFUSAL,
)
_SCHEMA: Final = sql.SQL("""
create table customer (
    id bigint primary key, name text not null, email text not null, website text, note text, password_hash text
);
create table orders (
    id bigint primary key, customer_id bigint not null references customer, total numeric(10, 2), status text
);
create table {table} (id text primary key, value jsonb, {column} text default 'x');
""").format(table=sql.Identifier(TABLE), column=sql.Identifier(f"c\u200b{TURNED}"))


class Partner:
    """A receiver that answers 500 with a page of an attacker, until it ``is_mended``."""

    def __init__(self) -> None:
        self.is_mended = False
        self.received: list[bytes] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            _, body = await read_request(reader)
            self.received.append(body)
            writer.write(OK if self.is_mended else _REFUSED)
            await writer.drain()


@dataclass(frozen=True)
class Shop:
    """The shop while it is open."""

    conninfo: str
    base_url: str
    office: PostOffice
    partner: Partner
    """The receiver of acme's endpoint."""
    endpoints: dict[str, str] = field(default_factory=dict)
    """The ids of the endpoints: healthy, failing, paused, and those of the tenants acme and globex."""

    @property
    def pages(self) -> str:
        """The address of the pages."""
        return f"{self.base_url}{PREFIX}/ui"

    @property
    def update(self) -> str:
        """The id of the entry of an update of a customer."""
        with psycopg.connect(self.conninfo) as conn:
            wanted = audit.query().resource("public.customer").record(1).operation("UPDATE")
            [entry] = wanted.list(conn)
        return entry.id

    def session(self, permission: Permission) -> str:
        """The token of a new session with this permission."""
        email = next(address for address, allowed in EMAILS.items() if allowed == permission)
        session_id, now, lifetime = uuid4(), datetime.now(UTC).replace(microsecond=0), timedelta(hours=1)
        token = tokens.issue(
            KEY,
            email=email,
            permissions=[permission],
            lifetime=lifetime,
            method="magic_link",
            session_id=session_id,
            now=now,
        )
        with psycopg.connect(self.conninfo) as conn:
            conn.execute(
                "insert into svc.console_sessions (id, email, permission, token_hash, expires_at, user_agent)"
                " values (%s, %s, %s, %s, %s, %s)",
                (session_id, email, permission, tokens.token_hash(token), now + lifetime, HOSTILE[:256]),
            )
        return token


def prepare(conninfo: str) -> None:
    """Make the tables and install."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(_SCHEMA)
        conn.commit()
        schema.install(conn, CONFIG)


@contextmanager
def open_shop(conninfo: str, folder: Path) -> Iterator[Shop]:
    """Enter to have the shop at work on a database that is prepared, with its past in it."""
    partner, stranger, friend = Partner(), Partner(), Partner()
    friend.is_mended = True
    with (
        post_office(folder, starttls=False) as office,
        in_a_thread(partner.answer) as acme,
        in_a_thread(stranger.answer) as failing,
        in_a_thread(friend.answer) as healthy,
        working(conninfo, CONFIG),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(database, "STATEMENT_TIMEOUT_SECONDS", 60)  # a search reads 1 MB, under any load of the machine
        made = _endpoints(conninfo, healthy=healthy, failing=failing, acme=acme)
        _past(conninfo)
        wait_until(lambda: _is_settled(conninfo, made), "deliveries have arrived, failed, and are held back")
        with psycopg.connect(conninfo, autocommit=True) as conn:
            audit.seal(conn, key=SEAL_KEY)
        console = Console(_settings(conninfo, office), config=CONFIG)
        register_tenants(console)
        with serving(console.asgi, proxy_headers=False) as base_url:
            yield Shop(conninfo, base_url, office, partner, made)


def _settings(conninfo: str, office: PostOffice) -> Settings:
    return Settings.load(
        env="test",
        database_url=conninfo,
        seal_public_keys=SEAL_KEY.public.text,
        encryption_keys=SecretStr(KEYS_TEXT),
        console_connection_token_hash=SecretStr(f"sha256:{KEY.decode()}"),
        console_allowed_emails=EMAILS,
        console_mail_from="console@corp.example",
        console_smtp_url=SecretStr(f"smtp://127.0.0.1:{office.port}?starttls=off"),
    )


def _endpoints(conninfo: str, *, healthy: str, failing: str, acme: str) -> dict[str, str]:
    wanted: dict[str, dict[str, Any]] = {
        "healthy": {"url": healthy, "description": "Warehouse"},
        "failing": {"url": f"{failing}?{quote(HOSTILE[:200])}", "description": HOSTILE, "headers": {"X-Key": "k"}},
        "paused": {"url": healthy, "description": UNBROKEN},
        "acme": {"url": acme, "description": "Acme's own", "tenant": "acme"},
        "globex": {"url": failing, "description": "Globex's own", "tenant": "globex"},
    }
    made = {}
    with psycopg.connect(conninfo) as conn, audit.actor(conn, HOSTILE):
        for name, options in wanted.items():
            query = endpoints.create(events=["order.*"], keys=KEYS, guard=Guard.of(CONFIG.webhooks), **options)
            made[name] = fetch_one(conn, query).id
        fetch_one(conn, endpoints.pause(made["paused"]))
    return made


_VIEW: Final = """
select svc.console_add_view(
    gen_random_uuid(), 'audit', null, %s, 'actor:mara@shop.example,"<img src=x onerror=alert(2)>"'
)
"""


def _past(conninfo: str) -> None:
    """The traffic before the first page."""
    with psycopg.connect(conninfo) as conn:
        with audit.actor(conn, "mara@shop.example", context={"request_id": "r-1", "reason": "a call"}):
            conn.execute("insert into customer values (1, 'Jane', 'jane@shop.example', null, null, 'x')")
            conn.execute("insert into orders values (7, 1, 49.90, 'placed')")
            webhooks.send(conn, "order.placed", {"id": 7}, tenant="acme")
            webhooks.send(conn, "order.shipped", {"id": 7}, tenant="acme")
        conn.execute(_VIEW, [HOSTILE[:60].strip()])
        conn.commit()
        with audit.actor(conn, "leo@shop.example", context={"reason": "she has moved"}):
            conn.execute("update customer set email = 'jane@elsewhere.example' where id = 1")
        conn.commit()
        for number in range(3):  # one page of a list after the other
            with audit.actor(conn, HOSTILE, tenant=HOSTILE[:200], context={HOSTILE: {HOSTILE: [HOSTILE, UNBROKEN]}}):
                note = HOSTILE if number else HUGE  # one is enough: a search looks into each
                row = (10 + number, HOSTILE, UNBROKEN, ADDRESS, note, "x")
                conn.execute("insert into customer values (%s, %s, %s, %s, %s, %s)", row)
                conn.execute("update customer set name = name || 'x', note = note || 'y' where id = %s", [10 + number])
                conn.execute(_INSERT, (f"{HOSTILE}/../{number}", Jsonb({HOSTILE: [ADDRESS, {"deep": UNBROKEN}]})))
                conn.execute("delete from customer where id = %s", [10 + number])
                webhooks.send(conn, "order.placed", {HOSTILE: note[: 2**17], "url": ADDRESS}, tenant="globex")
                audit.capture_log(
                    conn,
                    f"table {TURNED}",
                    "UPDATE",
                    before={HOSTILE: "a", "b": None, "n": 1, "c": "ann"},
                    after={HOSTILE: "a ", "b": "not set", "n": "1", "c": "\u0430nn", "s": ""},
                    label=f"{number}{HOSTILE}",
                    compliance=[HOSTILE[:100]],
                    severity="high",
                    description=HOSTILE,
                )
                webhooks.send(
                    conn, "order.shipped", [UNBROKEN, None, number], idempotency_key=f"{HOSTILE[:100]}{number}"
                )
            conn.commit()
        conn.execute(
            "insert into svc.console_sessions (id, email, permission, tenant, token_hash, expires_at)"
            " values (gen_random_uuid(), %(name)s, 'write', %(name)s, sha256('a'), now() + interval '1 hour')",
            {"name": UNBROKEN},
        )
        conn.execute("select svc.console_add_token(gen_random_uuid(), 'nightly', 'read', null, sha256('t'), '1 hour')")
        for tenant in ("acme", "globex", "initech", TERM, UNBROKEN, HOSTILE[:200].strip()):
            name = tenant[:200].strip()
            conn.execute("insert into svc.tenants (id, name) values (%s, %s)", [tenant, name])


def _is_settled(conninfo: str, made: dict[str, str]) -> bool:
    with psycopg.connect(conninfo) as conn:
        found = conn.execute(
            "select endpoint_id::text, status from svc.webhook_deliveries group by endpoint_id, status"
        ).fetchall()
        held_back = conn.execute(
            "select endpoint_id::text from svc.webhook_endpoint_state where breaker_until is not null"
        ).fetchall()
    states = {name: {status for endpoint_id, status in found if endpoint_id == made[name]} for name in made}
    is_over = states["healthy"] == {"delivered"} and states["acme"] == states["globex"] == {"failed"}
    return is_over and (made["failing"],) in held_back
