"""Export the demo: the pages of its console as files, which need neither a server nor a script."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from svc_pg.console.pages import assets
from svc_pg.errors import SvcError
from svc_pg.formats.plurals import counted

from ... import output, records
from ...signals import ending_tidily
from ..findings import Findings
from ..run import read, running
from .new_folder import new_folder
from .page import CopiedPage
from .walk import FIRST, READ_ONLY, Walk
from .words import Story, begin_with, read_only_page

STYLES: Final = ("console.css", "logo.svg")
_FAILING: Final = "Northwind's ERP"


@dataclass(frozen=True, slots=True)
class Exported:
    """The result: the folder, the pages in it, the bytes of its files, and the links to pages that it has not."""

    folder: str
    pages: int
    bytes: int
    links_to_what_is_left_out: int
    seconds: float


def export_demo(folder: Path, *, as_json: bool) -> None:
    """Run the demo, and write its pages to a new or empty folder, or nothing if that fails. Raises SvcError."""
    began = time.monotonic()
    with new_folder(folder) as (place, part):
        walked = asyncio.run(_walked())
        with ending_tidily():
            pages, left_out = _copied(*walked)
            content = {name: text.encode() for name, text in pages.items()}
            content |= {name: assets.find(name).content for name in STYLES}
            for name, data in content.items():
                (part / name).write_bytes(data)
    size = sum(map(len, content.values()))
    exported = Exported(str(place), len(pages), size, left_out, round(time.monotonic() - began, 1))
    if as_json:
        records.show_json(exported)
    else:
        output.data(f"Wrote {counted(len(pages), 'page')}, {size / 1e6:.1f} MB, to {place}. Open index.html in it.")


async def _walked() -> tuple[Walk, Story, Mapping[str, str]]:
    """The pages that were opened, those to begin with, and the names that this machine gave with others instead."""
    findings = Findings()
    async with running(findings) as demo:
        if not findings.is_good:
            raise SvcError("not all was recorded and delivered as it should be, so nothing is exported")
        walk = Walk(findings.console_url, findings.console_token)
        with findings.step("open the pages along their links"):
            await walk.begin("overview?window=1h")
            story = await _story(findings, walk)
            await walk.go_on()
        return walk, story, {_host(demo.partner_url): "partners.example", demo.worker: "worker:1"}


async def _story(findings: Findings, walk: Walk) -> Story:
    """The pages to begin with: the file of each by the words that lead to it."""
    [failing] = [each for each in await read(findings, "webhooks/endpoints") if each["description"] == _FAILING]
    places = {
        "the price that was changed past the application": f"audit/entries/{findings.alarms[0]['id']}",
        "the order that was placed at that price": "audit/records/public.orders/900",
        "the endpoint that was not told": f"endpoints/{failing['id']}",
        "its outage": f"endpoints/{failing['id']}/outage",
    }
    return {words: await walk.open(place) for words, place in places.items()}


def _copied(walk: Walk, story: Story, named: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The pages by the name of their file, and the number of links that lead to none of them."""
    copied = CopiedPage(walk.file_of, at=walk.began_at)
    pages = {}
    for page in walk.pages:
        html = page.html
        for name, instead in named.items():
            html = html.replace(name, instead)
        pages[page.name] = copied.made(html, page.address, more=begin_with(story) if page.name == FIRST else "")
    pages[READ_ONLY] = read_only_page(pages=len(pages), at=walk.began_at, story=story)
    for name, html in pages.items():
        if walk.token in html or _host(walk.console) in html:
            raise SvcError(f"{name} would name the console's session or its address, so nothing is exported")
    return pages, len(copied.left_out)


def _host(url: str) -> str:
    return urlsplit(url).netloc
