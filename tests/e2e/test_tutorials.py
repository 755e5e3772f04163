"""A newcomer follows each tutorial, block by block, in an empty folder; only ports and the database are others."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import django
import httpx
import psycopg
import pytest
from django.db.backends.postgresql.features import DatabaseFeatures
from psycopg.conninfo import conninfo_to_dict

from tests.support import debian
from tests.support.commands import environment, svc_pg
from tests.support.documents import FENCED, ROOT
from tests.support.ports import free_ports
from tests.support.postgres import embedded_programs
from tests.support.waiting import wait_until

TUTORIALS: Final = ROOT / "docs" / "tutorial"
DONE_ALREADY: Final = (
    "mkdir ",
    "python3 -m venv",
    "pip ",
    "createdb ",
    "docker ",
    "export DATABASE_URL",
    "export PATH",
)
SERVERS: Final = ("svc-pg listen", "svc-pg worker", "svc-pg serve", "uvicorn ", "flask ", "python manage.py runserver")


class Walk:
    """A newcomer at a shell: the folder, the variables, what commands have printed, and the servers that run."""

    def __init__(self, folder: Path, variables: dict[str, str], servers: ExitStack) -> None:
        self.folder = folder
        self.variables = variables
        self.printed: list[str] = []
        self._servers = servers

    def run(self, line: str) -> None:
        """Run one line."""
        if line.startswith(DONE_ALREADY):
            return
        if line.startswith("export "):
            exported = self._shell(f"{line} && printenv --null").rstrip("\0").split("\0")
            self.variables |= dict(text.split("=", 1) for text in exported)
        elif line.startswith(SERVERS):
            self._servers.enter_context(self._serving(line))
        elif line.startswith("svc-pg "):
            done = svc_pg(*shlex.split(line)[1:], folder=self.folder, variables=self.variables)
            assert done.returncode == 0, done.stderr
            self.printed.append(done.stdout)
        else:
            self.printed.append(self._shell(line))

    def shown(self, server: str) -> str:
        """The output of a server so far."""
        return (self.folder / f"{server}.output").read_text(encoding="utf-8")

    def _shell(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", line], cwd=self.folder, env=environment(**self.variables), capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def _serving(self, line: str) -> Iterator[None]:
        [secret] = re.findall(r"^secret +(\S+)$", "\n".join(self.printed), re.MULTILINE)
        words = shlex.split(line.replace("whsec_...", secret))
        words[0] = str(Path(sys.executable).with_name(words[0]))
        with (
            (self.folder / f"{words[1]}.output").open("w") as file,
            subprocess.Popen(
                words, cwd=self.folder, env=environment(**self.variables), stdout=file, stderr=subprocess.STDOUT
            ) as process,
        ):
            try:
                if port := re.search(r" (\d+)\b", line):
                    wait_until(lambda: _answers(int(port[1])), f"{line} answers")
                yield
            finally:
                process.kill()


def _answers(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("framework", ["fastapi", "flask", "django"])
def test_a_tutorial_leads_to_a_change_on_record_and_a_verified_webhook(
    framework: str, empty_database: str, tmp_path: Path
) -> None:
    debian.program("curl", package="curl")
    database = conninfo_to_dict(empty_database)
    with psycopg.connect(empty_database) as conn:
        (needed,) = DatabaseFeatures.minimum_database_version or (0,)
        if framework == "django" and conn.info.server_version // 10000 < needed:
            pytest.skip(f"Django {django.__version__} needs PostgreSQL {needed}")
    page = (TUTORIALS / f"{framework}.md").read_text(encoding="utf-8")
    for port, free in zip(("8080", "8000", "8001"), map(str, free_ports(3)), strict=True):
        page = re.sub(rf"\b{port}\b", free, page)
    page = page.replace('"NAME": "shop"', f'"NAME": "{database["dbname"]}"')
    variables = {f"PG{name.upper()}": str(database[name]) for name in ("host", "port", "user")}
    variables |= {
        "DATABASE_URL": empty_database,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(embedded_programs()), os.environ["PATH"]]),
    }
    with ExitStack() as servers:
        walk = Walk(tmp_path, variables, servers)
        for block in FENCED.finditer(page):
            language, text = block["language"], block["text"]
            if name := re.match(r"(?:#|--) ([\w./-]+\.\w+)\n", text):
                with (tmp_path / name[1]).open("a" if name[1] == "shop/settings.py" else "w") as file:
                    file.write(text)
            elif language == "json":
                assert json.loads(walk.printed[-1]) == json.loads(text)
                wait_until(lambda: "order.paid" in walk.shown("listen"), "the webhook arrives")
            elif language == "sh":
                for line in text.replace("\\\n", " ").splitlines():
                    walk.run(line)
        assert " verified\n" in walk.shown("listen")
        *_, history, deliveries = walk.printed
        assert re.search(r'ben  UPDATE    status: "open" -> "paid"', history)
        assert "ann  INSERT    card_number: (redacted), id: 1, " in history
        assert re.search(r"  order\.paid  (delivered|delivering)  ", deliveries)
        for console in re.findall(r"<(http://localhost:\d+/\S+)>", page):
            answer = httpx.get(console, headers={"accept": "text/html"}, follow_redirects=True)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
