"""Render the templates. All texts are escaped: nothing in here marks a text as safe."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from svc_pg import __version__
from svc_pg.console.pages import assets, calendar, states
from svc_pg.console.pages.differences import characters
from svc_pg.console.pages.formatting import duration, figure, size
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refused_forms import wrong_fields
from svc_pg.console.transport.client_addresses import browser
from svc_pg.database.empty_pages import NOTHING_YET, looked_at
from svc_pg.database.stretches import MOST_ROWS
from svc_pg.formats.human_times import day_before, exact, instant, left, relative
from svc_pg.formats.look_alikes import MIXED, is_mixed, twins
from svc_pg.formats.plurals import counted
from svc_pg.formats.unseen import isolated, marked, seen_json, unseen

ENVIRONMENT: Final = Environment(
    loader=PackageLoader("svc_pg.console.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
ENVIRONMENT.globals |= {
    "version": __version__,
    "states": states,
    "mixed_words": MIXED,
    "most_rows": MOST_ROWS,
    "nothing_yet": NOTHING_YET,
    "looked_at": looked_at,
}
ENVIRONMENT.filters |= {
    "number": "{:,}".format,
    "counted": counted,
    "field_time": calendar.field_with_milliseconds,
    "figure": figure,
    "duration": duration,
    "browser": browser,
    "isolated": isolated,
    "lettered": characters.lettered,
    "marked": marked,
    "pieces": characters.pieces,
    "seen_json": seen_json,
    "size": size,
    "twins": twins,
    "unseen": unseen,
    "wrong_fields": wrong_fields,
}
ENVIRONMENT.tests["mixed"] = is_mixed

_BDI: Final = re.compile(r"(<bdi\b[^>]*>)(.*?)(?=</bdi>)", re.DOTALL)


def render(template: str, request: PageRequest, values: Mapping[str, object]) -> bytes:
    """A page as UTF-8. Templates see the request, its addresses, and the values of the page.

    Texts of others stand in elements ``bdi``, whose content gets marks here; or, where no element can, as in a title,
    they come through the filter ``isolated``.
    """
    made = ENVIRONMENT.get_template(f"{template}.html").render(values, **_context(request))
    made = _BDI.sub(lambda found: found[1] + marked(found[2]), made)
    return made.encode(errors="replace")  # half of a surrogate pair must not cost the page


def lookalike(request: PageRequest) -> str:
    """The mark beside a name that mixes letters of several scripts."""
    return ENVIRONMENT.get_template("lookalike.html").render(_context(request))


def _context(request: PageRequest) -> dict[str, object]:
    return {
        "request": request,
        "url": request.url,
        "asset": lambda name: request.url("static", name, query={"v": assets.version(name)}),
        "when": lambda value: _When(value, request.now),
    }


class _When:
    """A point in time in the ways that pages write it."""

    def __init__(self, value: datetime, now: datetime) -> None:
        utc = value.astimezone(UTC)
        self.instant, self.exact, self.relative = instant(utc), exact(utc), relative(utc, now)
        self.left, self.clock, self.day = left(utc, now), f"{utc:%H:%M:%S}", day_before(utc, now)
