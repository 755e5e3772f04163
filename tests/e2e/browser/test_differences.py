"""Differences of values in a browser: marks are seen and not copied, and each page that shows them keeps the laws."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import psycopg
import pytest
from playwright.sync_api import Browser, Locator, Page

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.console import Console
from svc_pg.formats.json_writer import timestamp
from tests.integration.console.serving import PREFIX, bearer, serving, settings
from tests.support.page_laws import Inspection, watched
from tests.support.postgres import new_database

CONFIG: Final = Config(
    audit=AuditConfig(
        tables=[AuditedTable(name="public.customer", redact={"card": "last4", "tax": "hash"}, max_value_bytes=200_000)]
    )
)
DDL: Final = """
create type place as (street text, town text);
create table customer (
    id int primary key, name text, company text, vat_name text, nickname text, email text, credit numeric, tags text[],
    home place, photo bytea, scan bytea, card text, tax text, standing_order jsonb, loose json, notes text, code text
);
"""
NOTES: Final = "".join(f"Line {number} of the notes.\r\n" for number in range(1, 47))
CHANGED_NOTES: Final = (
    NOTES.replace("\r\n", "\n")
    .replace("Line 23 of", "Line 2300 after")
    .replace("Line 26 of", "Contact:\tines@x, line 26 of")
    .replace("Line 27", "Approved by m\u0430ra.\nLine 27")
)
ORDER: Final[dict[str, Any]] = {
    "items": [{"sku": f"S-{number}", "qty": 2, "unit_price": 389} for number in range(60)],
    "ship_to": {"street": "14 Harbour Row"},
    "limits": {"daily": 4},
    "notify": ["a@x.example", "b@x.example"],
    "confirm_by_phone": True,
    "due": "2026-11-24T14:00:00+00:00",
    "\u202eodd \u0645\u0631\u062d\u0628\u0627": {"x.y": 1},
}
NAME: Final = "Ines\u00a0Okafor \t\u200b \u202eLtd "
ACTORS: Final = ("mara@tidewater.example", "m\u0430ra@tidewater.example")


def changed_order() -> dict[str, Any]:
    order = json.loads(json.dumps(ORDER))
    order["items"][57] |= {"qty": 99, "unit_price": "389"}
    order["items"].insert(0, {"sku": "NEW", "qty": 1})
    order["ship_to"]["street"] = "14 Harbour Road"
    order["limits"]["daily"] = None
    order["notify"].append("ines@okafor-studi0.example")
    order["due"] = "2026-11-24T15:00:00+01:00"
    del order["confirm_by_phone"]
    return dict(order)


@dataclass(frozen=True)
class Served:
    """A console with the record 1 of a table, which was changed in two ways."""

    base_url: str
    entries: list[str]
    transactions: list[str]
    created: str
    """The time of the first state."""

    def address(self, path: str) -> str:
        return f"{self.base_url}{PREFIX}/ui/{path}"


@pytest.fixture(scope="module")
def served(postgres: str, template: str) -> Iterator[Served]:
    with new_database(postgres, template=template) as conninfo:
        with psycopg.connect(conninfo) as conn:
            conn.execute(DDL)
            conn.commit()
            schema.install(conn, CONFIG)
            for actor, statement, values in _statements():
                with conn.transaction(), audit.actor(conn, actor):
                    conn.execute(statement, values)
            entries = audit.query().resource("public.customer").record(1).list(conn).data
        with serving(_app(conninfo)) as base_url:
            yield Served(
                base_url,
                [entry.id for entry in entries],
                [entry.xact_id or "" for entry in entries],
                timestamp(entries[-1].timestamp),
            )


def _app(conninfo: str) -> Any:
    return Console(settings(database_url=conninfo), config=CONFIG).asgi


def _statements() -> Iterator[tuple[str, str, list[Any]]]:
    photo = bytes.fromhex("89504e470d0a1a0a") + bytes(100)
    insert = (
        "insert into customer values (1, %s, %s, %s, null, %s, 250, %s, row('14 Quay', 'Hull'), %s, %s, %s, %s, %s, %s,"
        " %s, %s)"
    )
    yield (
        ACTORS[0],
        insert,
        ["Ines Okafor", "Okafor Studio", "Okafor Ltd", "ann@x.example", ["a", "b"], photo, bytes(200_000),
         "4242424242424242", "DE1", json.dumps(ORDER), '{"price": 1.0}', NOTES, "def f():\n    return 1\n\n# end\n"],
    )  # fmt: skip
    update = (
        "update customer set name = %s, company = %s, vat_name = %s, nickname = 'null', email = %s, credit = 2500.00,"
        " tags = %s, home = row('14 Quay', 'Kingston  upon Hull'), photo = %s, scan = %s, card = %s, tax = %s,"
        " standing_order = %s, loose = %s, notes = %s, code = %s"
    )
    yield (
        ACTORS[1],
        update,
        [NAME, "Okafor\u00a0Studio", "\u202eOkafor Ltd", "\u0430nn@x.example", ["z", "a", "b"], photo + b"1",
         bytes(200_001), "5555444433331881", "DE2", json.dumps(changed_order()), '{"price": 1.00}', CHANGED_NOTES,
         "def f():\n    return 2 \n\n# end\n"],
    )  # fmt: skip
    yield ACTORS[0], "update customer set standing_order = %s", [json.dumps(ORDER | {"items": [*range(3000)]})]


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    token = bearer("read")["Authorization"].removeprefix("Bearer ")
    context.add_cookies([{"name": "svc_console", "value": token, "domain": "127.0.0.1", "path": f"{PREFIX}/ui"}])
    with watched(context, served.base_url) as watch:
        yield context.new_page()
        assert watch.take() == []
    context.close()


def paths(served: Served) -> dict[str, str]:
    return {
        "entry": f"audit/entries/{served.entries[1]}",
        "rewritten": f"audit/entries/{served.entries[0]}",
        "created": f"audit/entries/{served.entries[2]}",
        "record": "audit/records/public.customer/1",
        "transaction": f"audit/transactions/{served.transactions[1]}",
        "as-of": f"audit/records/public.customer/1/as-of?time={served.created}",
        "log": "audit?resource=customer",
    }


def test_each_page_with_differences_keeps_the_laws(page: Page, served: Served) -> None:
    inspection, broken = Inspection(), []
    for name, path in paths(served).items():
        response = page.goto(served.address(path))
        assert response is not None
        html = response.text()
        assert len(html.encode()) < 250 * 1024, name
        broken += [f"{name}: {each}" for each in inspection.broken_laws(page, html, name)]
    assert not broken, "\n".join(broken)


def row(page: Page, name: str) -> Locator:
    return page.locator("table.diff tr").filter(has=page.get_by_role("rowheader", name=name, exact=True)).first


def copied(cell: Locator) -> str:
    """The text that a copy of the value in a cell gets."""
    text = cell.locator("bdi").evaluate(
        "(element) => { getSelection().selectAllChildren(element); return getSelection().toString() }"
    )
    return str(text)


def test_what_is_copied_is_the_value_without_its_marks(page: Page, served: Served) -> None:
    page.goto(served.address(paths(served)["entry"]))
    assert copied(row(page, "name").locator("td.now")) == NAME
    assert copied(row(page, "company").locator("td.now")) == "Okafor\u00a0Studio"
    assert copied(row(page, "email").locator("td.now")) == "\u0430nn@x.example"
    assert copied(row(page, "vat_name").locator("td.now")) == "\u202eOkafor Ltd"
    lines = page.locator(".lines p.now bdi")
    assert "Contact:\tines@x, line 26 of the notes." in lines.all_inner_texts()


def test_a_mark_has_a_name_for_those_who_do_not_see_it(page: Page, served: Served) -> None:
    page.goto(served.address(paths(served)["entry"]))
    cell = row(page, "vat_name").locator("td.now")
    mark = cell.get_by_role("img", name="U+202E RIGHT-TO-LEFT OVERRIDE")
    assert mark.get_attribute("title") == "U+202E RIGHT-TO-LEFT OVERRIDE"
    boxes = [each.bounding_box() for each in (mark, cell.locator("bdi"))]
    assert boxes[0] is not None and boxes[1] is not None  # noqa: PT018
    assert boxes[0]["x"] - boxes[1]["x"] < 30, "the mark is at the beginning: it turns nothing around"
