"""Projects of frameworks, with their database: init, the lines that it prints, and what the log then tells."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tests.support.commands import environment, svc_pg

ENGINE = """\
import os

from sqlalchemy import create_engine, text

engine = create_engine(os.environ["SHOP_URL"])


def change():
    with engine.begin() as conn:
        conn.execute(text("update customer set name = 'Anna'"))
"""
POOL = """\
import os

from psycopg_pool import ConnectionPool

pool = ConnectionPool(os.environ["DATABASE_URL"], open=True)


def change():
    with pool.connection() as conn:
        conn.execute("update customer set name = 'Anna'")
"""
OF_ASGI = """
import asyncio
import httpx
from shop.main import app
async def main():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
        (await client.post("/", headers={"X-User": "mara"})).raise_for_status()
asyncio.run(main())
"""
OF_WSGI = """
from shop.main import create_app
assert create_app().test_client().post("/", headers={"X-User": "mara"}).status_code == 200
"""
SQLALCHEMY_URL = "postgresql+psycopg://{user}@/{dbname}?host={host}&port={port}"


@dataclass(frozen=True)
class Project:
    """A folder with an application, and its database."""

    folder: Path
    conninfo: str

    @property
    def variables(self) -> dict[str, str]:
        url = SQLALCHEMY_URL.format(**conninfo_to_dict(self.conninfo))
        return {"DATABASE_URL": self.conninfo, "SHOP_URL": url, "PYTHONPATH": str(self.folder)}

    def write(self, **files: str) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> str:
        done = svc_pg(*arguments, folder=self.folder, variables=self.variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment(**self.variables),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def init(self) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = json.loads(self.run("init", "--yes", "--json"))["steps"]
        return steps

    def add_lines(self, steps: list[dict[str, Any]]) -> None:
        """Add the lines of each step after the line and from the column that it names, the last first."""
        for step in sorted((step for step in steps if step["file"]), key=lambda step: -step["line"]):
            path = self.folder / step["file"]
            lines = path.read_text(encoding="utf-8").split("\n")
            if "write app = for return" in step["words"]:
                lines = [re.sub(r"return (Flask|Litestar)\(", r"app = \1(", line) for line in lines]
            lines[step["line"] : step["line"]] = [" " * step["column"] + line for line in step["lines"]]
            path.write_text("\n".join(lines), encoding="utf-8")

    def commands(self, steps: list[dict[str, Any]]) -> list[str]:
        return [line for step in steps if not step["file"] for line in step["lines"]]

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run("log", "--json", "--table", "customer").splitlines()]


def project_in(folder: Path, conninfo: str) -> Project:
    """A project without files, whose database has one customer."""
    with psycopg.connect(conninfo) as conn:
        conn.execute("create table customer (id int primary key, name text, email text)")
        conn.execute("insert into customer values (1, 'Ann', 'ann@shop.example')")
    return Project(folder, conninfo)


def shows_who_changed(entries: list[dict[str, Any]], actor: str) -> bool:
    """True if the one entry is of the change, by the actor, without the redacted address."""
    [entry] = entries
    return actor in json.dumps(entry) and "Anna" in json.dumps(entry) and "ann@shop" not in json.dumps(entry)
