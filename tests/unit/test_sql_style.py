"""The SQL below sql/ can be read beside other things: no long lines, and what is pinned is pinned in one place."""

import re
from pathlib import Path

import pytest

SQL = Path(__file__).parents[2] / "sql"
FILES = {
    str(file.relative_to(SQL)): file.read_text(encoding="utf-8")
    for file in SQL.rglob("*.*")
    if file.suffix in (".sql", ".j2")
}


def test_no_line_is_long() -> None:
    assert "webhooks/send.sql.j2" in FILES
    long = [
        f"{name}:{n}" for name, text in FILES.items() for n, line in enumerate(text.split("\n"), 1) if len(line) >= 120
    ]
    assert long == []


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("\nset lc_monetary", "include/snapshot_settings.sql.j2"),
        ("\nset enable_material", "include/queue_settings.sql.j2"),
        ("made by svc-pg", "include/made_by.sql.j2"),
    ],
)
def test_what_functions_share_is_written_once(setting: str, place: str) -> None:
    assert [name for name, text in FILES.items() if setting in text] == [place]


def test_a_text_means_the_same_whatever_standard_conforming_strings_says() -> None:
    """A text with a backslash is E'', or stands in dollar tags, as do bodies of functions, which are code."""
    code = re.compile(r"--[^\n]*|\$re\$.*?\$re\$|\b[eE]'(?:[^'\\]|\\.|'')*'|('(?:[^']|'')*')", re.DOTALL)
    of_postgres = {name: text for name, text in FILES.items() if not name.startswith(("mysql", "sqlite"))}
    found = [name for name, text in of_postgres.items() if any("\\" in each for each in code.findall(text))]
    assert found == []


def test_a_snapshot_is_taken_with_the_settings_of_a_capture() -> None:
    pinned = [line for line in FILES["include/snapshot_settings.sql.j2"].splitlines() if line.startswith("set ")]
    local = [line for line in FILES["capture/snapshot.sql.j2"].splitlines() if line.startswith("set local ")]
    assert local.pop() == "set local row_security = off;"
    assert local == [line.replace("set ", "set local ") + ";" for line in pinned if "search_path" not in line]
