"""The demo's shop as a database: its tables, and the configuration of svc-pg for them."""

from datetime import timedelta
from typing import Final

import psycopg

from svc_pg import Config, schema
from svc_pg.config import WebhooksConfig
from svc_pg.database.statements import statement

SCHEMA: Final = statement("demo/shop.sql")


def _config() -> Config:
    config = Config(
        webhooks=WebhooksConfig(
            allow_http=True,
            allow_cidrs=["127.0.0.0/8"],
            allow_for_customers=True,
            retry=[timedelta(milliseconds=300), *(timedelta(minutes=minutes) for minutes in (1, 5, 30))],
        )
    )
    audit, webhooks = config.audit, config.webhooks
    audit.table("public.customer", redact=["password_hash"])
    audit.table("public.payment", redact={"card_number": "last4"})
    for name in ("product", "orders", "order_line"):
        audit.table(f"public.{name}")
    audit.enrich(
        "public.customer",
        "UPDATE",
        label="email changed",
        severity="medium",
        compliance=["gdpr"],
        when={"changed": ["email"]},
        description="{actor_id} changed email from {before[email]} to {after[email]}",
    )
    audit.enrich("public.customer", "DELETE", label="customer erased", severity="high", compliance=["gdpr"])
    audit.enrich(
        "public.product",
        "UPDATE",
        label="price nearly zero",
        severity="critical",
        compliance=["sox"],
        when={"changed": ["price"], "after": {"price": {"lt": 2}}},
        description="{before[name]} went from {before[price]} to {after[price]}",
    )
    audit.enrich(
        "public.product",
        "UPDATE",
        label="price changed",
        severity="low",
        when={"changed": ["price"]},
        description="{actor_id} changed the price of {before[name]} from {before[price]} to {after[price]}",
    )
    audit.enrich(
        "public.orders", "UPDATE", label="order canceled", severity="medium", when={"after": {"status": "canceled"}}
    )
    audit.enrich(
        "public.payment",
        "UPDATE",
        label="refund",
        severity="high",
        compliance=["pci"],
        when={"after": {"status": "refunded"}},
        description="{actor_id} refunded {before[amount]} of order {before[order_id]}",
    )
    webhooks.event("order.placed", description="A customer has placed an order", schema=_ORDER, search=["id"])
    webhooks.event("order.paid", description="The payment of an order was captured", schema=_ORDER, search=["id"])
    webhooks.event("order.shipped", description="An order has left the warehouse", schema=_ORDER, search=["id"])
    webhooks.event(
        "order.canceled", description="An order was canceled, and its payment refunded", schema=_ORDER, search=["id"]
    )
    webhooks.event("customer.updated", description="A customer's name or address has changed")
    return config


_ORDER: Final = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "total": {"type": "string"}, "status": {"type": "string"}},
}
CONFIG: Final = _config()


def create(conninfo: str) -> None:
    """Make the tables in an empty database, and install svc-pg."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(SCHEMA)
        conn.commit()
        schema.install(conn, CONFIG)
