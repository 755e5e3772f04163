"""The shell completes commands, options and values. No database is asked."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import PROGRAM, environment, svc_pg

CONFIG = """
[webhooks.events."order.created"]
[webhooks.events."order.paid"]
"""
CASES = [
    ("uni", ["uninstall"]),
    ("worker --met", ["--metrics-port", "--metrics-host"]),
    ("log --operation ", ["INSERT", "UPDATE", "DELETE", "TRUNCATE", "SNAPSHOT", "GONE", "DDL", "READ"]),
    ("webhooks deliveries --status p", ["pending"]),
    ("webhooks add --config missing.toml --event ", []),
]
IN_BASH = [("webhooks ro", ["rotate-secret"]), ("webhooks add --config other.toml --event ", ["invoice.sent"])]
SHARED = [("send ", ["order.created", "order.paid"]), ("webhooks list --status ", ["active", "paused", "disabled"])]
"""For every shell."""

BASH = """
svc-pg --install-completion >/dev/null
source ~/.bashrc
[[ $(complete -p svc-pg) == *" -F _svc_pg_completion svc-pg" ]] || exit 1
while IFS= read -r line; do
    read -ra COMP_WORDS <<<"$line"
    [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _svc_pg_completion svc-pg
    (IFS=' '; printf '%s\\n' "${COMPREPLY[*]}")
done
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration of two events, and another of one."""
    Path(tmp_path, "svc-pg.toml").write_text(CONFIG, encoding="utf-8")
    Path(tmp_path, "other.toml").write_text('[webhooks.events."invoice.sent"]\n', encoding="utf-8")
    return tmp_path


def test_bash_completes(folder: Path) -> None:
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH],
        cwd=folder,
        env=environment(HOME=str(folder), PATH=f"{PROGRAM.parent}:/usr/bin:/bin"),
        input="".join(f"svc-pg {line}\n" for line, _ in [*SHARED, *IN_BASH]),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.splitlines() == [" ".join(words) for _, words in [*SHARED, *IN_BASH]]
    assert done.stderr == ""


@pytest.mark.parametrize(("line", "words"), CASES)
def test_the_program_answers_what_bash_asks(folder: Path, line: str, words: list[str]) -> None:
    typed = ["svc-pg", *line.split(" ")]
    asked = {"COMP_WORDS": "\n".join(typed), "COMP_CWORD": str(len(typed) - 1)}
    answer = svc_pg(folder=folder, variables={"_SVC_PG_COMPLETE": "complete_bash", **asked})
    assert (answer.stdout.split(), answer.stderr) == (words, "")


@pytest.mark.parametrize(("line", "words"), SHARED[1:])
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_for_another_shell_asks_the_program(folder: Path, shell: str, line: str, words: list[str]) -> None:
    script = svc_pg(folder=folder, variables={"_SVC_PG_COMPLETE": f"source_{shell}"}).stdout
    assert f"_SVC_PG_COMPLETE=complete_{shell}" in script
    assert "_TYPER_COMPLETE_ARGS=" in script
    asked = {"_SVC_PG_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": f"svc-pg {line}"}
    answer = svc_pg(folder=folder, variables={**asked, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}).stdout
    if shell == "fish":
        assert answer.splitlines() == words
    else:
        quoted = "\n".join(f'"{word}"' for word in words)
        assert answer == f"_arguments '*: :(({quoted}))'\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes(folder: Path) -> None:
    script = svc_pg(folder=folder, variables={"_SVC_PG_COMPLETE": "source_fish"}).stdout
    asking = [f"complete --do-complete 'svc-pg {line}'" for line, _ in SHARED]
    done = subprocess.run(
        ["fish", "--no-config", "-c", "\n".join([script, *asking])],
        cwd=folder,
        env=environment(HOME=str(folder), PATH=f"{PROGRAM.parent}:/usr/bin:/bin"),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert sorted(done.stdout.split()) == sorted(word for _, words in SHARED for word in words)
