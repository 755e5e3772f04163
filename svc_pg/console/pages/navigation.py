"""The navigation: the pages that a person is offered, in groups, each with the key that leads to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from svc_pg.settings import Permission

AUDIT: Final = "Audit"
WEBHOOKS: Final = "Webhooks"
ADMINISTRATION: Final = "Administration"
GROUPS: Final = ("", AUDIT, WEBHOOKS, ADMINISTRATION)
"""The headings in their order; pages without a heading come first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NavItem:
    """An entry of the navigation: its word, the icon before it, and the permission that the page needs.

    ``key`` is the letter that leads there after ``g``.
    """

    word: str
    icon: str
    group: str = ""
    key: str | None = None
    permission: Permission = "read"
    product: str | None = None
    """The id of the product that the console must have, or the page is not offered."""
    path: Sequence[str] = ()
    """The segments below ``/ui``, which are those of the page's route."""


def grouped(items: Iterable[NavItem]) -> Sequence[tuple[str, Sequence[NavItem]]]:
    """The items below their headings; headings without any are left out."""
    by_group: dict[str, list[NavItem]] = {group: [] for group in GROUPS}
    for item in items:
        by_group[item.group].append(item)
    return [(group, found) for group, found in by_group.items() if found]
