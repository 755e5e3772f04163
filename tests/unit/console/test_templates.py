"""The templates: whatever data says, it stays text, and no page needs more than the strict policy allows."""

import re
from pathlib import Path

import jinja2
import pytest

import svc_pg.console.pages
from svc_pg.console.pages import rendering

FOLDER = Path(svc_pg.console.pages.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))
BANNED = {
    r"\|\s*safe\b": "a value that is not escaped",
    r"autoescape": "a part that is not escaped",
    r"\bMarkup\b": "a value that is not escaped",
    r"\bstyle\s*=": "an inline style, which the policy blocks",
    r"<style": "an inline style, which the policy blocks",
    r"\son\w+\s*=": "an inline handler, which the policy blocks",
    r"<script(?![^>]*\ssrc=)": "an inline script, which the policy blocks",
    r"javascript:": "a script in an address",
    r"\bhx-": "an attribute that a library would run",
    r"\s[\w-]+=\{\{": "an attribute without quotes, in which a space ends the value",
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_hold_nothing_that_data_could_use(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert [reason for pattern, reason in BANNED.items() if re.search(pattern, text, re.IGNORECASE)] == []


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_count_things_by_the_filter(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert re.findall(r"""["'](\w*)["'] if [^{}]* == 1 else ["'](?:\1s|\w+ies)["']|\w\(s\)""", text) == []


def test_no_module_of_the_pages_marks_a_text_as_safe() -> None:
    for module in FOLDER.rglob("*.py"):
        assert not re.search(r"Markup|autoescape=False|\|safe|markupsafe", module.read_text(encoding="utf-8")), module


def test_the_script_makes_no_markup_of_texts() -> None:
    script = (FOLDER / "static" / "console.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)


def test_a_count_has_its_noun() -> None:
    template = rendering.ENVIRONMENT.from_string("{{ n | counted('delivery') }}")
    assert [template.render(n=n) for n in (0, 1, 2000)] == ["0 deliveries", "1 delivery", "2,000 deliveries"]


def test_what_templates_show_is_escaped() -> None:
    environment = rendering.ENVIRONMENT
    assert environment.undefined is jinja2.StrictUndefined
    shown = environment.from_string("{{ a }}<p title='{{ a }}'>").render(a="<script>\"'&{{7*7}}")
    assert shown == "&lt;script&gt;&#34;&#39;&amp;{{7*7}}<p title='&lt;script&gt;&#34;&#39;&amp;{{7*7}}'>"
