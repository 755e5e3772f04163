import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = {"svc_pg": "svc_pg", "cli": "svc_pg.cli", "sql": "svc_pg.sql"}


def test_every_folder_of_python_is_in_the_packages() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = {
        ".".join([package, *file.parent.relative_to(ROOT / folder).parts])
        for folder, package in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert set(setuptools["packages"]) == found


def test_every_package_has_an_init() -> None:
    folders = {file.parent for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_importing_the_library_loads_no_server_and_no_command_line() -> None:
    program = "import sys, svc_pg; print(sorted({'fastapi', 'aiohttp', 'typer', 'uvicorn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "[]\n"
