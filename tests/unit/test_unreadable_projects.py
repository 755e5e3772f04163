"""Files and folders of a project that cannot be read are told or passed over, and never an error."""

import os
from pathlib import Path

import pytest

from svc_pg.scaffold import source_files
from svc_pg.scaffold.project import read_project
from tests.support.project_files import write

FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n"
LONGEST_PATH = 4095


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"app.py": "import flask\n\ndef ("}, "app.py was passed over: line 3 is no Python 3."),
        ({"app.py": "import flask\n\0"}, "app.py was passed over: "),
        ({"big.py": "#" * 50 * 1024 * 1024}, "big.py was passed over: it has more than 1,024 KiB"),
        ({"pyproject.toml": "#" * 50 * 1024 * 1024}, "pyproject.toml cannot be read, or is too large"),
        *(
            ({"alembic.ini": "[alembic]\n", "pyproject.toml": f"{key} = 7\n"}, "alembic.ini has no script_location")
            for key in ("tool", "tool.alembic", "tool.alembic.script_location")
        ),
        ({"alembic.ini": "#" * 50 * 1024 * 1024}, "alembic.ini cannot be read, so no migration is proposed"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    write(tmp_path, **files, **{"main.py": "from flask import Flask\napp = Flask('x')\n"})
    project = read_project(tmp_path)
    assert [each[: len(problem)] for each in project.problems] == [problem]
    assert len(project.applications) == 1


def test_of_many_broken_files_a_few_are_named(tmp_path: Path) -> None:
    write(tmp_path, **{f"m{number}.py": "import flask\n(" for number in range(10)})
    told = read_project(tmp_path).problems
    assert len(told) == 4
    assert told[-1] == "7 more such files were passed over"


def test_loops_of_links_and_files_that_are_none_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, **{"shop/main.py": "from flask import Flask\napp = Flask('x')\n"})
    (tmp_path / "shop" / "again").symlink_to(tmp_path)
    for name in ("loop.py", "manage.py", "pyproject.toml", "alembic.ini", "requirements.txt"):
        (tmp_path / name).symlink_to(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "gone.py").symlink_to("nowhere")
    project = read_project(tmp_path)
    assert [str(each.place.file) for each in project.applications] == ["shop/main.py"]
    assert (project.problems, project.migrations) == ([], [])


def test_what_cannot_be_looked_into_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path
    while len(str(folder)) < 3800:
        folder /= "f" * 200
        folder.mkdir()
    folder /= "x" * (LONGEST_PATH - len(str(folder)) - len("//sub/a.py"))
    write(folder, **{"sub/a.py": FASTAPI})
    with pytest.raises(OSError, match="too long"):
        (folder / "sub" / "pyvenv.cfg").stat()
    project = read_project(folder)
    assert [str(each.place.file) for each in project.applications] == ["sub/a.py"]
    assert project.problems == []


def test_no_more_folders_than_the_bound_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FOLDERS", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()
    write(tmp_path, **{"a/app.py": FASTAPI, "d/app.py": FASTAPI})
    project = read_project(tmp_path)
    assert [str(each.place.file) for each in project.applications] == ["a/app.py"]
    assert any("only the first were looked at" in problem for problem in project.problems)
