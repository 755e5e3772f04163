"""A folder without files, and a database with one table of customers, for ``svc-pg init``."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import psycopg

from svc_pg import Config
from tests.support.commands import svc_pg

CUSTOMER = """
create table customer (
    id int generated always as identity primary key, name text, contact varchar(80), card bigint, phone text,
    login text, api_token uuid, joined date,
    contact_words tsvector generated always as (to_tsvector('simple', contact)) stored
);
insert into customer (name, contact, card, phone, login) values
    ('Ann', 'ann@shop.example', 4111111111111111, '+1 780 428 9482', 'pbkdf2_sha256$1$a$b'),
    ('Ben', 'ben@shop.example', 5500000000000004, '+1 780 428 9483', 'pbkdf2_sha256$1$c$d'),
    ('Cem', 'cem@shop.example', 4012888888881881, '+1 780 428 9484', 'pbkdf2_sha256$1$e$f');
create table alembic_version (version_num varchar(32) primary key);
create table note (text text);
"""


@dataclass(frozen=True)
class Shop:
    """An empty folder, and a database."""

    folder: Path
    conninfo: str

    def run(
        self, *arguments: str, read: bytes = b"", conninfo: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        variables = {"DATABASE_URL": conninfo or self.conninfo}
        return svc_pg(*arguments, folder=self.folder, variables=variables, read=read)

    @property
    def file(self) -> Path:
        return self.folder / "svc-pg.toml"

    @property
    def redactions(self) -> dict[str, dict[str, str]]:
        tables = Config.from_toml(self.file).audit.tables
        return {each.name: dict(each.redactions) for each in tables}


def shop_in(folder: Path, conninfo: str) -> Shop:
    """A shop in an empty database."""
    with psycopg.connect(conninfo) as conn:
        conn.execute(CUSTOMER)
    return Shop(folder, conninfo)
