"""The files that pages of the documentation show."""

import re
from collections.abc import Iterator

from tests.support.documents import FENCED, ROOT


def files(page: str) -> Iterator[tuple[str, str]]:
    """The names of the files, which stand in their first lines, and their contents."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in FENCED.finditer(text):
        if name := re.match(r"(?:#|--) ([\w./-]+\.\w+)\n", block["text"]):
            yield name[1], block["text"]
