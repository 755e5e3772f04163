"""The examples in README and docs/, so that tests run what readers copy."""

import re
from pathlib import Path

_DOCS = Path(__file__).parents[2] / "docs"


def examples(document: str, section: str = "", language: str = "python") -> list[str]:
    """The fenced blocks of that language below the heading ``## section``, or before the first such heading."""
    folder = _DOCS.parent if document == "README.md" else _DOCS
    text = (folder / document).read_text(encoding="utf-8")
    heading, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    bodies = {body.splitlines()[0]: body for body in others} | {"": heading}
    found = re.findall(rf"^```{re.escape(language)}\n(.*?)^```", bodies[section], re.DOTALL | re.MULTILINE)
    assert found, f"{document} has no {language} below {section or 'its title'}"
    return found
