"""The program's help, and its options that need no database."""

import gc
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import main
from cli.app import COMMANDS, app, load
from cli.webhooks.endpoint_commands import PANELS


def all_below(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """A command and every command of its groups, with their whole names."""
    yield " ".join(path), command
    for name, each in getattr(command, "commands", {}).items():
        yield from all_below(each, *path, name)


ALL = {name: command for top in COMMANDS for name, command in all_below(load(top), top)}


def shown(*arguments: str) -> str:
    """The output of the program on a terminal of 80 columns."""
    done = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, arguments, prog_name="svc-pg")
    assert done.exit_code == 0
    return done.output


def panels(*arguments: str) -> dict[str, list[str]]:
    """The panels of a help with the first word of each line, without the options and without the rest of texts."""
    found: dict[str, list[str]] = {}
    for line in shown(*arguments, "--help").splitlines():
        if title := re.match(r"╭─ (\w+) ", line):
            names = found.setdefault(title[1], [])
        elif line.startswith("│") and line[2] != " ":
            names.append(line[2:].partition(" ")[0])
    found.pop("Options")
    return found


def test_the_help_of_webhooks_groups_its_commands_by_their_subjects() -> None:
    assert panels("webhooks") == {panel: names.split() for panel, names in PANELS.items()}


def test_the_help_groups_the_commands_and_gives_each_a_line() -> None:
    assert panels() == {
        "Database": ["init", "install", "plan", "status", "uninstall", "migrate"],
        "Audit": [
            "ask",
            "log",
            "history",
            "related",
            "as-of",
            "diff",
            "reads",
            "blame",
            "revert",
            "export",
            "rebuild",
            "purge",
            "erase",
            "hold",
            "reconcile",
            "seal",
            "verify",
            "prove",
            "check",
            "evidence",
        ],
        "Webhooks": ["send", "worker", "listen", "webhooks", "keys"],
        "Console": ["serve", "console", "demo"],
    }


def test_an_interruption_while_the_program_is_loaded_ends_it_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(_name: str) -> Any:
        raise KeyboardInterrupt

    loading = ModuleType("cli.app")
    monkeypatch.setattr(loading, "__getattr__", interrupt, raising=False)
    monkeypatch.setitem(sys.modules, "cli.app", loading)
    monkeypatch.setattr(sys, "path", sys.path[:])
    try:
        with pytest.raises(SystemExit) as end:
            main()
    finally:
        gc.enable()
    assert end.value.code == 130


@pytest.mark.parametrize("name", ["", *ALL])
def test_a_flag_is_shown_without_a_type(name: str) -> None:
    help_ = shown(*name.split(), "--help")
    assert "--help" in help_
    assert "bool" not in help_.lower()


@pytest.mark.parametrize("name", ALL)
def test_every_help_text_is_a_sentence_whose_conditions_begin_with_if_or_when(name: str) -> None:
    command = ALL[name]
    visible = [each for each in command.params if not getattr(each, "hidden", False)]
    for text in [command.help, *(each.help for each in visible)]:
        assert re.fullmatch(r"[A-Z].*\.", text or "", re.DOTALL), text
        assert not re.search(r"\b([Ww]here|so many|such as)\b", text), text


@pytest.mark.parametrize(
    ("text", "seconds"), [("2s", 2), ("1m", 60), ("PT0.5S", 0.5), ("2000", 2), ("10", 0.01), (None, 2)]
)
def test_the_interval_of_a_worker_is_a_duration_or_milliseconds(text: str | None, seconds: float) -> None:
    arguments = [] if text is None else ["--interval", text]
    found = load("worker").make_context("worker", arguments).params["interval"]
    assert found == timedelta(seconds=seconds)


def test_an_unknown_command_is_refused_with_its_nearest_name() -> None:
    done = CliRunner().invoke(app, ["instal"])
    assert done.exit_code == 2
    assert "Did you mean 'install', 'uninstall', 'seal'?" in done.output
