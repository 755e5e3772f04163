"""An hour of the demo's shop, as values: actors, changes, times and sent events. Every run makes the same."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, LiteralString
from uuid import UUID

SELLERS: Final = ("acme", "northwind")
OUTAGE: Final = timedelta(minutes=10)
"""The time since one of the receivers began to fail."""
TAMPERING: Final = timedelta(minutes=17)
"""The time since a price was changed in the database itself."""
PAUSED: Final = timedelta(minutes=20)
"""The time since another receiver was paused."""
PAUSED_RECEIVER: Final = "Acme's address book"
OPERATOR: Final = "operator@tidewater.example"
_LENGTH: Final = timedelta(minutes=58)
_ORDERS: Final = 140

_PRODUCTS: Final = (
    ("Storm lantern", "34.90"), ("Canvas tarp 3 x 4 m", "59.00"), ("Merino socks", "18.50"), ("Trail stove", "84.00"),
    ("Dry bag 20 l", "27.40"), ("Ridge tent, 2 persons", "249.00"), ("Sleeping mat", "64.90"), ("Head torch", "42.00"),
    ("Enamel mug", "9.90"), ("Water filter", "49.50"), ("Oilskin jacket", "189.00"), ("Bow saw", "22.30"),
)  # fmt: skip
_NAMES: Final = (
    "Ines Okafor", "Tobias Lindqvist", "Priya Raman", "Marek Nowak", "Aoife Byrne", "Yuki Tanaka", "Lucía Fernández",
    "Sami Haddad", "Greta Vogel", "Noah de Vries", "Amara Diallo", "Jonas Bauer", "Helena Costa", "Milan Petrović",
    "Zoë Martin", "Karim <b>Aziz</b>", "Nadia Rossi", "Elias Berg", "Chiara Conti", "Leila Farouk",
)  # fmt: skip

# The hashes are of unknown tokens
_SESSION: Final[LiteralString] = """
insert into svc.console_sessions (id, email, permission, token_hash, ip, user_agent, created_at, expires_at)
select %s, %s, %s, %s, %s, %s, now, now + interval '24 hours'
  from cast(current_setting('demo.now') as timestamptz) now
"""
_EVENT: Final[LiteralString] = """
insert into svc.console_events (occurred_at, event, session_id, email, ip, user_agent, detail)
values (current_setting('demo.now')::timestamptz, %s, %s, %s, %s, %s, %s)
"""

Statement = tuple[LiteralString, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """A transaction and its age; ``is_past_the_application`` if it was made in the database itself."""

    ago: timedelta
    statements: Sequence[Statement]
    actor: str | None = None
    tenant: str | None = None
    context: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    is_past_the_application: bool = False


def steps() -> list[Step]:
    """The hour in its order."""
    return sorted(_Shop().steps(), key=lambda step: -step.ago)


class _Shop:
    """Draws the hour, with a seeded generator, so that each run draws the same."""

    def __init__(self) -> None:
        self._random = random.Random(1187)  # noqa: S311
        self._request = 40_000

    def steps(self) -> Iterator[Step]:
        yield from self._beginning()
        yield from self._console()
        yield from self._staff()
        yield from self._tampering()
        for number in range(_ORDERS):
            ago = _LENGTH * (1 - (number + self._random.random()) / _ORDERS) * 0.96
            yield from self._order(1001 + number, ago)

    def _web(self, path: str) -> dict[str, str]:
        self._request += self._random.randrange(3, 90)
        ip = f"203.0.113.{self._random.randrange(2, 250)}"
        return {"request_id": f"r-{self._request}", "ip": ip, "path": path}

    def _beginning(self) -> Iterator[Step]:
        product: LiteralString = "insert into product values (%s, %s, %s, %s)"
        rows = [(n, name, Decimal(price), 400) for n, (name, price) in enumerate(_PRODUCTS, 1)]
        job = {"job": "catalog-import", "file": "catalog-2026-03.csv"}
        yield Step(_LENGTH, [(product, row) for row in rows], actor="catalog-import", context=job)
        for number, name in enumerate(_NAMES, 101):
            email = f"{name.split()[0].lower()}@{'exmaple' if number == 103 else 'example'}.com"
            phone = f"+49 30 55{number:05}"
            row = (number, name, email, phone, f"scrypt$16384$8$1${self._random.getrandbits(128):032x}")
            signed_up: Statement = ("insert into customer values (%s, %s, %s, %s, %s)", row)
            ago = _LENGTH - timedelta(seconds=6 * (number - 100))
            yield Step(ago, [signed_up], actor="signup", context=self._web("/signup"))

    def _console(self) -> Iterator[Step]:
        """Users of the console, and their changes in it."""
        for minutes, email, permission, browser, is_clumsy in (
            (55, OPERATOR, "admin", "Mozilla/5.0 (X11; Linux x86_64; rv:148.0) Gecko/20100101 Firefox/148.0", False),
            (41, "mara@tidewater.example", "write", "Mozilla/5.0 (Macintosh; Intel Mac OS X 15_3) Safari/605.1", True),
            (33, "jonas@tidewater.example", "read", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/145.0", False),
        ):
            draw, ago = self._random, timedelta(minutes=minutes)
            who = (email, f"203.0.113.{draw.randrange(2, 250)}", browser)
            session = UUID(int=draw.getrandbits(128), version=4)
            yield Step(ago, [(_EVENT, ("link_requested", session, *who, None))])
            if is_clumsy:
                yield Step(ago - timedelta(seconds=31), [(_EVENT, ("code_rejected", session, *who, None))])
            signed_in: list[Statement] = [
                (_EVENT, ("code_accepted", session, *who, None)),
                (_SESSION, (session, email, permission, draw.randbytes(32), *who[1:])),
                (_EVENT, ("signed_in", session, *who, None)),
            ]
            yield Step(ago - timedelta(seconds=44), signed_in, actor=email)
            if email == OPERATOR:
                pause: LiteralString = (
                    "select svc.webhook_set_status(id, 'paused') from svc.webhook_endpoints where description = %s"
                )
                yield Step(PAUSED, [(pause, (PAUSED_RECEIVER,))], actor=email, context={"session_id": str(session)})
            if permission == "write":
                exported = "GET /audit/export?resource=public.product&since=1h&format=csv"
                yield Step(timedelta(minutes=8.1), [(_EVENT, ("log_exported", session, *who, exported))])

    def _order(self, number: int, ago: timedelta) -> Iterator[Step]:
        draw = self._random
        customer, seller = draw.randrange(101, 101 + len(_NAMES)), SELLERS[number % 5 == 0]
        product, quantity = draw.randrange(1, 1 + len(_PRODUCTS)), draw.choice((1, 1, 1, 2, 3))
        price = Decimal(_PRODUCTS[product - 1][1])
        total = price * quantity
        placed: list[Statement] = [
            ("insert into orders (id, customer_id, total) values (%s, %s, %s)", (number, customer, total)),
            ("insert into order_line values (%s, %s, %s, %s)", (number, product, quantity, price)),
            ("update product set stock = stock - %s where id = %s", (quantity, product)),
        ]
        data = {"id": number, "total": str(total)}
        yield Step(
            ago, placed, "checkout", seller, self._web("/checkout"), [("order.placed", data | {"status": "placed"})]
        )
        yield from self._paid(number, ago - timedelta(seconds=draw.uniform(4, 30)), seller, total)

    def _paid(self, number: int, ago: timedelta, seller: str, total: Decimal) -> Iterator[Step]:
        draw = self._random
        card = f"4{draw.randrange(10**14):014}{draw.randrange(10)}"
        paid: list[Statement] = [
            ("insert into payment values (%s, %s, %s, %s)", (number + 4000, number, total, card)),
            ("update orders set status = 'paid' where id = %s", (number,)),
        ]
        data = {"id": number, "total": str(total)}
        if ago > timedelta():
            context = self._web("/payments/callback")
            yield Step(ago, paid, "payments", seller, context, [("order.paid", data | {"status": "paid"})])
        ago -= timedelta(minutes=draw.uniform(4, 16))
        if ago > timedelta():
            shipped: Statement = ("update orders set status = 'shipped' where id = %s", (number,))
            context = {"job": "packing", "station": f"P{draw.randrange(1, 5)}"}
            yield Step(ago, [shipped], "warehouse", seller, context, [("order.shipped", data | {"status": "shipped"})])

    def _staff(self) -> Iterator[Step]:
        change: LiteralString = "update customer set email = %s where id = %s"
        for minutes, actor, customer, email in (
            (44.2, "support@tidewater.example", 103, "priya@example.com"),
            (31.5, "jonas@tidewater.example", 107, "lucia.fernandez@example.org"),
            (6.3, "mara@tidewater.example", 101, "ines@okafor-studio.example"),
        ):
            context = self._web(f"/admin/customers/{customer}") | {"reason": "Caller proved identity, ticket 4471"}
            event = ("customer.updated", {"id": customer, "email": email})
            yield Step(timedelta(minutes=minutes), [(change, (email, customer))], actor, "acme", context, [event])
        price: LiteralString = "update product set price = %s where id = %s"
        context = self._web("/admin/products/11")
        yield Step(timedelta(minutes=26), [(price, (Decimal("179.00"), 11))], "mara@tidewater.example", None, context)
        erased: Statement = ("delete from customer where id = 200", ())
        visitor: Statement = ("insert into customer values (200, 'Guest', 'guest@example.net', null, 'none')", ())
        yield Step(timedelta(minutes=35), [visitor], "signup", None, self._web("/signup"))
        yield Step(timedelta(minutes=12.5), [erased], "jonas@tidewater.example", None, self._web("/admin/erase"))

    def _tampering(self) -> Iterator[Step]:
        """A fraud: a price is lowered past the application, an order follows, and it is noticed."""
        price: LiteralString = "update product set price = %s where id = 6"
        yield Step(TAMPERING, [(price, (Decimal("1.00"),))], is_past_the_application=True)
        total, ago = Decimal("8.00"), TAMPERING - timedelta(minutes=1.2)
        placed: list[Statement] = [
            ("insert into orders (id, customer_id, total) values (900, 116, %s)", (total,)),
            ("insert into order_line values (900, 6, 8, 1)", ()),
            ("update product set stock = stock - 8 where id = 6", ()),
        ]
        data = {"id": 900, "total": str(total)}
        yield Step(ago, placed, "checkout", "northwind", self._web("/checkout"), [("order.placed", data)])
        yield from self._paid_quickly(data, total, ago)
        noticed = TAMPERING - timedelta(minutes=8.4)
        canceled: list[Statement] = [
            (price, (Decimal("249.00"),)),
            ("update orders set status = 'canceled' where id = 900", ()),
            ("update payment set status = 'refunded' where id = 4900", ()),
        ]
        context = self._web("/admin/orders/900") | {"reason": "Price was wrong, customer called"}
        event = ("order.canceled", data | {"status": "canceled"})
        yield Step(noticed, canceled, "mara@tidewater.example", "northwind", context, [event])

    def _paid_quickly(self, data: Mapping[str, Any], total: Decimal, ago: timedelta) -> Iterator[Step]:
        paid: list[Statement] = [
            ("insert into payment values (4900, 900, %s, '4929000000001881')", (total,)),
            ("update orders set status = 'paid' where id = 900", ()),
        ]
        event = ("order.paid", {**data, "status": "paid"})
        yield Step(ago - timedelta(seconds=9), paid, "payments", "northwind", self._web("/payments/callback"), [event])
