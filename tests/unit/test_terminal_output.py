"""Nothing that the command line prints of a database can control a terminal."""

import os
from io import BytesIO, TextIOWrapper

import pytest

from cli import output, records, tables
from svc_pg.errors import SvcError

HOSTILE = "\x1b[2J\u202e\x9b"
SHOWN = r"\u001b[2J\u202e\u009b"


def test_names_in_tables_and_rows_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show("", ["what"], [[HOSTILE]])
    records.show({HOSTILE: HOSTILE})
    records.show_json({HOSTILE: HOSTILE})
    shown = capsys.readouterr().out
    assert shown.count(SHOWN) == 5
    assert all(character.isprintable() for line in shown.splitlines() for character in line)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_sql_is_as_it_is_but_at_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    output.sql("select 1;\n-- all of it")
    output.sql(f"select '{HOSTILE}';")
    out, err = capsys.readouterr()
    assert out == f"select 1;\n-- all of it\nselect '{SHOWN if is_terminal else HOSTILE}';\n"
    assert err.count("write it to a file") == is_terminal


def test_data_that_the_encoding_of_the_output_lacks_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", TextIOWrapper(BytesIO(), "latin-1"))
    output.data("é")
    with pytest.raises(SvcError, match="only characters of latin-1"):
        output.data("€")


def test_a_command_goes_on_if_its_reader_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(output, "is_read", True)
    with os.fdopen(writer, "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        output.data("x" * 1_000_000)  # more than is buffered
        assert not output.is_read
        tables.show("", ["what"], [["more"]])
        output.end()
