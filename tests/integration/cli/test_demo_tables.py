from itertools import pairwise
from pathlib import Path

from tests.support.commands import program


def test_a_terminal_of_80_columns_shows_each_change_in_two_lines_at_most(tmp_path: Path) -> None:
    done = program("demo", "--once", folder=tmp_path, variables={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    tables = done.stdout.partition("\nConsole ")[0]
    assert max(map(len, tables.splitlines())) <= 80
    changes = tables.partition("What was delivered")[0].splitlines()
    actors = [line.split("│")[0].strip() for line in changes if "│" in line]
    assert sorted(filter(None, actors)) == ["alice", "alice", "bob", "bob", "operator", "support"]
    assert not any(one == another == "" for one, another in pairwise(actors))
    assert "id: 2, email: bob@exmaple.com → " in " ".join(tables.split())
