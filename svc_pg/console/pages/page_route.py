"""A page with its path and the parameters of its address."""

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.navigation import NavItem
from svc_pg.console.pages.page_request import DONE, REFUSED, View


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page. ``path`` may have ``:param`` segments; a page that ``is_open`` needs no session.

    A page that ``is_compressed`` is not made to show a secret. With a ``nav_item``, the navigation leads to the page.
    Parameters other than ``filters`` are refused, and several of one name, unless it is one of ``lists``: what a page
    left out in silence would be missed. One that ``is_open``, or whose filters are None, takes any. A form is sent back
    to ``page``, its own, if it is refused, unless the browser names another. A page that ``leads_to_change`` is no
    more than such a form.
    """

    method: str
    path: str
    view: View
    is_open: bool = False
    is_stream: bool = False
    is_compressed: bool = False
    nav_item: NavItem | None = None
    filters: Sequence[str] | None = ()
    lists: Sequence[str] = ()
    page: str | None = None
    leads_to_change: bool = False

    @property
    def is_change(self) -> bool:
        """True if it changes something, or has nothing but a form that does."""
        return self.leads_to_change or (self.page is not None and not self.is_open)

    def check(self, query: QueryParams) -> None:
        """Raise Problem 422 for a parameter that the page does not know, or knows once."""
        if self.is_open or self.filters is None or self.method != "GET":
            return
        for name in query:
            if name not in (*self.filters, *self.lists, REFUSED, DONE):
                known = ", ".join((*self.filters, *self.lists)) or "none"
                detail = f"This page does not know the filter {name!r}. It knows {known}."
                raise Problem(422, "invalid_parameter", detail, parameter=name)
            if name not in self.lists and len(query.getlist(name)) > 1:
                raise Problem(422, "invalid_parameter", f"The filter {name} may occur once.", parameter=name)
