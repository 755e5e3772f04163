"""A record is found by what people call it."""

import pytest

from svc_pg.audit.read.named_records import named, split_name

TABLES = [
    "public.order",
    "sales.order",
    "public.order_items",
    "public.companies",
    "public.boxes",
    'public."odd.name"',
    "public.Customers",
    "public.billing_invoice",
    "public.billing_invoiceline",
    "crm.shop_invoices",
    "public.visits_visit_note",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order 17", ("order", "17")),
        (" sales.order   17 ", ("sales.order", "17")),
        ("orders/17", ("orders", "17")),
        ("order#17", ("order", "17")),
        ("order:a/b c", ("order", "a/b c")),
        ("seats [3, 7]", ("seats", "[3, 7]")),
        ("order", None),
        ("17", None),
        ("order ", None),
        ("", None),
    ],
)
def test_a_text_names_a_table_and_a_key(text: str, expected: tuple[str, str] | None) -> None:
    assert split_name(text) == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("order", [["public.order", "sales.order"], ["public.order_items"]]),
        ("sales.order", [["sales.order"]]),
        ("sales.orders", [["sales.order"]]),
        ("ORDERS", [["public.order", "sales.order"]]),
        ("company", [["public.companies"]]),
        ("box", [["public.boxes"]]),
        ("customer", [["public.Customers"]]),
        ("order_it", [["public.order_items"]]),
        ("public.comp", [["public.companies"]]),
        ("invoice", [["public.billing_invoice", "crm.shop_invoices"]]),
        ("crm.invoice", [["crm.shop_invoices"]]),
        ("billing_inv", [["public.billing_invoice", "public.billing_invoiceline"]]),
        ("visit_notes", [["public.visits_visit_note"]]),
        ("item", [["public.order_items"]]),
        ("bill", [["public.billing_invoice", "public.billing_invoiceline"]]),
        ("voice", []),
        ("rder", []),
    ],
)
def test_a_table_is_meant_by_its_name_its_number_or_its_beginning(typed: str, expected: list[list[str]]) -> None:
    assert named(TABLES, typed) == expected
