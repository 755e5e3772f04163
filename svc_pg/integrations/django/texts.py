"""Texts of others in Django's admin: isolated from the words beside them, with invisible characters marked."""

from django.utils.html import format_html

from svc_pg.formats.look_alikes import MIXED, is_mixed
from svc_pg.formats.unseen import marked


def theirs(text: str) -> str:
    """The text in an element ``bdi``; an empty one stays empty."""
    return format_html("<bdi>{}</bdi>", marked(text)) if text else ""


def named(name: str) -> str:
    """As ``theirs``, with a mark beside a name that may be made to look like another."""
    if not is_mixed(name):
        return theirs(name)
    return format_html('{} <span role="img" aria-label="{}" title="{}">⚠</span>', theirs(name), MIXED, MIXED)
