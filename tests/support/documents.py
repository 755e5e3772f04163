"""README and docs/, and the examples in them, so that tests run the commands that readers copy."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED: Final = re.compile(r"^( *)```(?P<language>[^\n]*)\n(?P<text>.*?)^\1```$", re.DOTALL | re.MULTILINE)


def examples(document: str, section: str = "", language: str = "python") -> list[str]:
    """The fenced blocks of that language below the heading ``## section``, or before the first heading ``##``."""
    blocks = FENCED.finditer(_body(document, section))
    found = [block["text"] for block in blocks if block["language"] == language]
    assert found, f"{document} has no {language} below {section or 'its title'}"
    return found


def inline(document: str, section: str = "", *, start: str = "svc-pg ") -> list[str]:
    """The inline code in that section with this beginning."""
    codes = re.findall(r"`([^`]+)`", FENCED.sub("", _body(document, section)))
    found = [line for line in (" ".join(code.split()) for code in codes) if line.startswith(start)]
    assert found, f"{document} has no `{start}...` below {section or 'its title'}"
    return found


def _body(document: str, section: str) -> str:
    folder = ROOT if document == "README.md" else ROOT / "docs"
    text = (folder / document).read_text(encoding="utf-8")
    heading, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    return ({body.splitlines()[0]: body for body in others} | {"": heading})[section]
