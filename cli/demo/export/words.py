"""The words of the export: the note on each page, and the page of what it leaves out."""

from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Final

from svc_pg.formats.human_times import exact

from .walk import FIRST, READ_ONLY

Story = Mapping[str, str]
"""The files of the pages to begin with, by the words that lead to them."""

POLICY: Final = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"
"""As that of the console's pages, but there is no script; ``frame-ancestors`` would need a server."""
HEAD: Final = (
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    '<meta name="referrer" content="no-referrer">\n'
    '<meta name="robots" content="noindex">\n'
)
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{head}<meta name="viewport" content="width=device-width">
<title>A read-only copy · svc-pg</title>
<link rel="icon" href="logo.svg">
<link rel="stylesheet" href="console.css">
</head>
<body>
<main class="alone">
<a class="brand" href="{first}"><img src="logo.svg" alt="" width="20" height="20">svc-pg</a>
<h1>This copy is read-only</h1>
<p>It has {pages:,} pages of the demo's console as files, made at {at}. What you chose is not among them: it asks the
database, as a search, a filter, a download or one more page of a list does, or it changes something.</p>
<p>Among them are {story}.</p>
<p>For all of it, run the demo: <code>svc-pg demo</code> brings its own database.</p>
<div><a class="btn" href="{first}">To the first page</a></div>
</main>
</body>
</html>
"""


def note(at: datetime, more: str) -> str:
    """The note at the head of a page: ``more`` is HTML that follows it."""
    return (
        '\n<div class="note"><div><b>A read-only copy of the demo</b>, made at '
        f'{exact(at)}. Times such as "3 min ago" count from then. '
        f'<a href="{READ_ONLY}">What is left out</a>{more}</div></div>'
    )


def begin_with(story: Story) -> str:
    """The pages to begin with, as HTML that follows the note of the first page."""
    return f"<br>A tent for 249.00 was sold for 1.00. Begin with {_listed(story)}."


def read_only_page(*, pages: int, at: datetime, story: Story) -> str:
    """The page to which lead all forms, and all links to pages that were not opened."""
    return _PAGE.format(head=HEAD, pages=pages, first=FIRST, at=exact(at), story=_listed(story))


def _listed(story: Story) -> str:
    *most, last = [f'<a href="{escape(name)}">{escape(words)}</a>' for words, name in story.items()]
    return f"{', '.join(most)} and {last}"
