import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.commands import environment, forked

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "docs" / "operations.md"
FOLDERS = {"svc_pg": "svc_pg", "cli": "svc_pg.cli", "sql": "svc_pg.sql"}


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_folder_of_python_is_in_the_packages() -> None:
    setuptools = PYPROJECT["tool"]["setuptools"]
    found = {
        ".".join([package, *file.parent.relative_to(ROOT / folder).parts])
        for folder, package in FOLDERS.items()
        for file in (ROOT / folder).rglob("*.py")
    }
    assert set(setuptools["packages"]) == found


def test_every_package_has_an_init() -> None:
    folders = {file.parent for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_template_and_static_file_is_in_the_data_of_its_package() -> None:
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    kept = {
        file
        for folder, package in FOLDERS.items()
        for name, patterns in data.items()
        if name.split(".")[: package.count(".") + 1] == package.split(".")
        for pattern in patterns
        for file in (ROOT / folder / Path(*name.split(".")[package.count(".") + 1 :])).glob(pattern)
    }
    files = {
        file
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.*")
        if file.is_file() and file.suffix not in (".py", ".pyc")
    }
    assert files - kept == set()


def test_the_image_copies_all_that_the_package_is_built_of() -> None:
    built_of = {"LICENSE", "README.md", "pyproject.toml", *FOLDERS}
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text()
    build, _ = dockerfile.split("\nRUN ", 1)
    assert {word for line in re.findall(r"^COPY (.*)", build, re.M) for word in line.split()[:-1]} == built_of
    context = set(re.findall(r"^!(.*)", (ROOT / ".dockerignore").read_text(), re.M))
    assert context == built_of | set(re.findall(r"^COPY (docker/\S+)", dockerfile, re.M))


PARTS = {
    "worker": {"aiodns", "aiohappyeyeballs", "httptools"},
    "console": {"fastapi", "starlette", "uvicorn"},
    "cli": {"click", "rich", "typer"},
}
"""Packages that only a part of svc-pg needs."""

OF_ALL_PARTS = ("cryptography.fernet", "jinja2", "jwt", "psycopg_pool", "pydantic_settings")
"""Modules of other packages, which import none of those."""

DRIVERS = {"psycopg", "psycopg_pool"}
MODELS = {"jinja2", "jsonschema", "pydantic", "pydantic_settings"}
CRYPTOGRAPHY = {"cryptography", "jwt"}


def test_an_installation_is_complete_and_the_documented_small_one_lacks_the_parts() -> None:
    project = PYPROJECT["project"]
    everything = set(project["dependencies"])
    parts = {requirement for part in PARTS for requirement in project["optional-dependencies"][part]}
    assert parts < everything
    names = {requirement.partition(">")[0] for requirement in everything - parts}
    page = OPERATIONS.read_text(encoding="utf-8").replace("\\\n", "")
    documented = re.search(r"^pip install 'psycopg\[binary\]' (.*)$", page, re.MULTILINE)
    assert documented
    assert {"psycopg", *documented[1].split()} == names


def loaded(program: str, *arguments: str) -> set[str]:
    """The packages that are loaded when this program ends."""
    program = f"import sys\ntry:\n    {program}\nfinally:\n    print('loaded', *sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment())
    last = done.stderr.splitlines()[-1].split()
    assert (done.returncode, last[0]) == (0, "loaded"), done.stderr
    return {name.partition(".")[0] for name in last[1:]}


def test_a_server_of_django_loads_no_installer() -> None:
    program = "\n".join(
        [
            "import sys, django",
            "from django.conf import settings",
            "settings.configure(INSTALLED_APPS=['svc_pg.integrations.django'], SVC_CONFIG='svc-pg.toml')",
            "django.setup()",
            "assert 'svc_pg.integrations.django.migrating' in sys.modules",
            "assert 'svc_pg.schema' not in sys.modules",
        ]
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT, env=environment())


@pytest.mark.parametrize(
    ("program", "needless"),
    [
        ("from svc_pg import Config", DRIVERS | CRYPTOGRAPHY),
        ("from svc_pg.webhooks import send, verify_webhook_signature", DRIVERS | MODELS | CRYPTOGRAPHY),
        ("import svc_pg.audit, svc_pg.schema", CRYPTOGRAPHY),
        (  # that of SQLAlchemy does without greenlet if the application is not async
            "from svc_pg.integrations import asgi, psycopg, sqlalchemy, wsgi",
            {"greenlet"},
        ),
    ],
)
def test_what_every_application_imports_loads_the_packages_of_no_part(program: str, needless: set[str]) -> None:
    assert loaded(program) & (needless | set().union(*PARTS.values())) == set()


def test_the_client_loads_no_database_and_no_part_but_what_httpx_brings() -> None:
    others = DRIVERS | CRYPTOGRAPHY | MODELS - {"pydantic"} | PARTS["worker"] | PARTS["console"]
    assert loaded("import svc_pg.client") & others == set()
    assert loaded("import svc_pg.webhooks, svc_pg.audit, svc_pg.schema, svc_pg.console") & {"httpx"} == set()


def test_the_client_without_httpx_says_what_to_install() -> None:
    program = "import sys; sys.modules['httpx'] = None; import svc_pg.client"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, env=environment())
    assert done.stderr.splitlines()[-1] == "ImportError: svc_pg.client needs httpx: pip install 'svc-pg[client]'"


@pytest.mark.parametrize(
    ("program", "own", "others"),
    [
        ("import svc_pg.console", "console", {*PARTS["worker"], *PARTS["cli"], "uvicorn"}),
        ("from svc_pg.webhooks import Worker", "worker", PARTS["console"] | PARTS["cli"]),
    ],
)
def test_a_part_loads_the_packages_of_no_other(program: str, own: str, others: set[str]) -> None:
    found = loaded(program)
    assert found & PARTS[own]
    assert found & others == set()


@pytest.mark.parametrize(
    ("arguments", "needless"),
    [
        (["--version"], DRIVERS | CRYPTOGRAPHY | {"rich", "jinja2", "jsonschema", "pydantic_settings"}),
        (["--help"], DRIVERS | CRYPTOGRAPHY | {"jinja2", "jsonschema", "pydantic_settings"}),
        (["send", "--help"], CRYPTOGRAPHY | {"jinja2", "jsonschema"}),
        (["log", "--help"], CRYPTOGRAPHY | {"jinja2", "jsonschema"}),
        (["install", "--help"], CRYPTOGRAPHY | {"jsonschema"}),
        (["webhooks", "list", "--help"], {"jinja2", "jsonschema"}),
        (["worker", "--help"], PARTS["console"] | {"jsonschema"}),
        (["serve", "--help"], PARTS["worker"] | {"jsonschema"}),
        (["demo", "--database", "sqlite", "--once"], CRYPTOGRAPHY | {"jsonschema"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",  # a set has no order that stays
)
def test_a_command_loads_what_it_calls_and_looks_for_no_garbage_in_that(
    arguments: list[str], needless: set[str]
) -> None:
    parts = set() if arguments[0] in ("worker", "serve") else PARTS["worker"] | PARTS["console"]
    is_command = not arguments[0].startswith("--")
    program = f"assert (gc.isenabled(), gc.get_freeze_count() > 0) == ({is_command}, {is_command})"
    program = f"import cli, gc\n    try:\n        cli.main()\n    finally:\n        {program}"
    assert loaded(program, *arguments) & (needless | parts) == set()


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("httptools", ["worker"], "worker"),
        ("aiodns", ["worker"], "worker"),
        ("fastapi", ["serve"], "console"),
        ("uvicorn", ["listen"], "console"),
        ("starlette", ["console", "sessions"], "console"),
        ("typer", ["--version"], "cli"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_command_that_brings_it(
    tmp_path: Path, package: str, command: list[str], extra: str
) -> None:
    program = f"import sys; sys.modules['{package}'] = None; from svc_pg.cli import main; main()"
    (tmp_path / "svc-pg").write_text(program, encoding="utf-8")
    done = forked("", ["svc-pg", *command], OF_ALL_PARTS, folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: this command needs {package}; run: pip install 'svc-pg[{extra}]'\n"
