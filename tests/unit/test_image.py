"""The Dockerfile fits the package that it builds: checked by its text, without a daemon or a registry."""

import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import PurePosixPath
from typing import Any, Final

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from cli.app import COMMANDS
from cli.console.address import PORT
from svc_pg import __version__
from svc_pg.client.generated.operations import HEALTH_GET
from tests.support.documents import ROOT

DOCKERFILE: Final = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: Final = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))
PACKAGE: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: Final[dict[str, Any]] = PACKAGE["project"]
KNOWN: Final = {
    "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "USER", "WORKDIR"
}  # fmt: skip


@dataclass
class Stage:
    """A stage of the build: its instructions in order, each with its words."""

    name: str | None
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, kind: str) -> list[str]:
        """The arguments of each instruction of a kind."""
        return [words for found, words in self.instructions if found == kind]

    def one(self, kind: str) -> str:
        """The arguments of the only one."""
        [words] = self.all(kind)
        return words

    def pairs(self, kind: str) -> dict[str, str]:
        """The names and values of ENV or LABEL."""
        return dict(word.split("=", 1) for words in self.all(kind) for word in shlex.split(words))

    def position(self, kind: str) -> int:
        """The place of the last instruction of a kind."""
        return max(number for number, (found, _) in enumerate(self.instructions) if found == kind)


def instructions() -> Iterator[tuple[str, str]]:
    lines = [line for line in DOCKERFILE.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        kind, words = line.split(maxsplit=1)
        yield kind, " ".join(words.split())


def stages() -> list[Stage]:
    found: list[Stage] = []
    for kind, words in instructions():
        if kind == "FROM":
            _, _, name = words.partition(" AS ")
            found.append(Stage(name or None))
        if found:
            found[-1].instructions.append((kind, words))
    return found


BUILD, IMAGE = stages()


def test_each_instruction_is_one_that_is_checked_here() -> None:
    assert {kind for kind, _ in instructions()} <= KNOWN  # ADD fetches addresses and unpacks what it finds


def test_the_entry_point_is_the_script_of_the_package() -> None:
    [name] = yaml.safe_load(IMAGE.one("ENTRYPOINT"))
    assert name in PROJECT["scripts"]
    [folder] = re.findall(r"venv \S* ?(/\S+)", BUILD.one("RUN"))
    assert IMAGE.pairs("ENV")["PATH"].split(":")[0] == f"{folder}/bin"
    assert f"--from={BUILD.name} {folder} {folder}" in IMAGE.all("COPY")
    assert yaml.safe_load(IMAGE.one("CMD")) == ["--help"]


def test_each_file_that_is_copied_exists_and_reaches_the_build() -> None:
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    copied = [words.split()[:-1] for words in (*BUILD.all("COPY"), *IMAGE.all("COPY")) if "--from=" not in words]
    for source in (source for sources in copied for source in sources):
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in let_in), f"{source} is not in .dockerignore"


def test_the_extras_that_are_installed_are_those_of_the_package() -> None:
    [extras] = re.findall(r"'\.\[([\w,]+)\]'", BUILD.one("RUN"))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    document = (ROOT / "docs" / "docker.md").read_text(encoding="utf-8")
    [told] = re.findall(r"contains the extras (.*?), but no pip", document.replace("\n", " "))
    assert set(re.findall(r"`(\w+)`", told)) == set(extras.split(","))


def test_the_last_user_is_a_number_that_is_not_root_and_that_the_image_has() -> None:
    user, group = IMAGE.one("USER").split(":")
    assert user == group
    assert int(user) >= 1000
    [made] = [words for words in IMAGE.all("RUN") if "useradd" in words]
    assert f"--uid {user} " in made
    assert IMAGE.position("USER") > max(IMAGE.position("RUN"), IMAGE.position("COPY"))
    document = (ROOT / "docs" / "docker.md").read_text(encoding="utf-8")
    assert set(re.findall(r"[Uu]ser (\d+)|USER (\d+):\d+", document)) == {(user, ""), ("", user)}


def test_the_health_check_runs_a_file_of_the_image_and_asks_ports_that_it_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options, _, command = IMAGE.one("HEALTHCHECK").partition(" CMD ")
    assert {option.split("=")[0] for option in options.split()} == {"--interval", "--timeout", "--start-period"}
    program, file = yaml.safe_load(command)
    assert program == "python3"
    sources = {words.split()[1]: words.split()[0] for words in IMAGE.all("COPY") if "--from=" not in words}
    source = ROOT / sources[file]
    environment = IMAGE.pairs("ENV")
    read = set(re.findall(r"os\.environ\[\"(\w+)\"\]", source.read_text(encoding="utf-8")))
    assert read <= set(environment)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    found = runpy.run_path(str(source))
    assert {str(found["WORKER"][0]), str(found["CONSOLE"][0])} == set(IMAGE.one("EXPOSE").split())
    assert found["WORKER"][1] == "/healthz"
    assert found["CONSOLE"][1] == f"/.well-known/svc{HEALTH_GET.path}"


def test_the_health_check_asks_the_ports_that_variables_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_WORKER_METRICS_PORT", "9000")
    monkeypatch.setenv("SVC_SERVE_PORT", "9001")
    found = runpy.run_path(str(ROOT / "docker" / "health.py"))
    assert (found["WORKER"][0], found["CONSOLE"][0]) == (9000, 9001)


def test_the_health_check_takes_an_empty_variable_for_none_as_the_commands_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_WORKER_METRICS_PORT", "")
    monkeypatch.setenv("SVC_SERVE_PORT", "")
    found = runpy.run_path(str(ROOT / "docker" / "health.py"))
    assert (found["WORKER"][0], found["CONSOLE"][0]) == (0, PORT)
    assert not found["is_well"](*found["WORKER"])


def test_the_labels_are_those_of_the_package() -> None:
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in IMAGE.pairs("LABEL").items()}
    assert labels == {
        "title": PROJECT["name"],
        "description": PROJECT["description"],
        "licenses": PROJECT["license"],
        "version": __version__,
    }


def test_the_base_image_has_a_version_that_the_package_supports() -> None:
    [(_, argument)] = [each for each in instructions() if each[0] == "ARG" and each[1].startswith("PYTHON_IMAGE=")]
    image = argument.removeprefix("PYTHON_IMAGE=")
    [version] = re.findall(r"^python:(\d+\.\d+)", image)
    assert version in SpecifierSet(PROJECT["requires-python"])
    assert f"${{PYTHON_IMAGE:-{image}}}" in (ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8")
    assert [words.split()[0] for stage in (BUILD, IMAGE) for words in stage.all("FROM")] == ["${PYTHON_IMAGE}"] * 2


@pytest.mark.parametrize("name", [name for name, each in COMPOSE["services"].items() if "svc-pg" in each["image"]])
def test_a_service_runs_a_command_and_mounts_files_that_exist(name: str) -> None:
    service = COMPOSE["services"][name]
    assert "entrypoint" in service or service["command"][0] in COMMANDS
    for volume in service["volumes"]:
        source = volume.split(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "docker" / source).is_file()
    if name != "secrets":
        assert str(PurePosixPath(IMAGE.one("WORKDIR")) / "svc-pg.toml") in " ".join(service["volumes"])
