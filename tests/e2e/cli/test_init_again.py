"""The command init twice, two at once, and beside files, folders and databases that are not as they should be."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import Config
from tests.support.commands import svc_pg
from tests.support.init_shop import Shop, shop_in
from tests.support.shell import shell


@pytest.fixture
def conn(empty_database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def shop(empty_database: str, tmp_path: Path) -> Shop:
    return shop_in(tmp_path, empty_database)


def test_the_second_time_nothing_is_written_and_new_tables_are_named(shop: Shop, conn: psycopg.Connection[Any]) -> None:
    shop.run("init", "--yes")
    before = shop.file.read_bytes()
    done = shop.run("init")
    assert (done.returncode, done.stdout) == (0, "")
    assert "It names every table that has a key." in done.stderr
    conn.execute('create table "new\nt" (id int primary key); create table other (id int)')
    done = shop.run("init", "--yes")
    assert (done.returncode, done.stdout) == (0, "public.new\\nt\n")
    assert json.loads(shop.run("init", "--json").stdout) == {
        "isWritten": False, "newTables": ["public.new\nt"], "steps": []
    }  # fmt: skip
    assert shop.file.read_bytes() == before


def test_beside_a_configuration_it_tells_what_the_project_lacks(shop: Shop) -> None:
    assert shop.run("init", "--yes").returncode == 0
    (shop.folder / "app.py").write_text("from flask import Flask\napp = Flask('x')\n", encoding="utf-8")
    done = shop.run("init")
    assert (done.returncode, "The project lacks:" in done.stderr) == (0, True)
    assert done.stdout.startswith("1. Name the actor of each request of Flask, in app.py after line 2:\n")
    assert "svc-pg.toml" not in done.stdout


def test_no_database_and_a_broken_configuration_are_errors(shop: Shop) -> None:
    missing = shop.run("init", "--yes", conninfo=make_conninfo(shop.conninfo, dbname="missing"))
    assert (missing.returncode, shop.file.exists()) == (1, False)
    assert missing.stderr.startswith("error: no connection to the database: ")
    shop.file.write_text("[[", encoding="utf-8")
    broken = shop.run("init")
    assert broken.returncode == 1
    assert broken.stderr.startswith("error: svc-pg.toml: not valid TOML")
    shop.file.unlink()
    shop.file.symlink_to("nowhere")
    assert shop.run("init", "--yes").stderr.startswith("error: svc-pg.toml: cannot be read")


def test_two_at_once_write_one_whole_file_and_the_other_says_so(shop: Shop) -> None:
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: shop.run("init", "--yes"), range(2)))
    assert len(Config.from_toml(shop.file).audit.tables) == 1
    assert sum("wrote svc-pg.toml" in each.stderr for each in done) == 1
    [other] = [each for each in done if "wrote svc-pg.toml" not in each.stderr]
    assert "svc-pg.toml was made meanwhile" in other.stderr or "svc-pg.toml is here already" in other.stderr
    assert [each.name for each in shop.folder.iterdir()] == ["svc-pg.toml"]


def test_a_file_that_cannot_be_written_whole_is_not_left_behind(shop: Shop) -> None:
    told = shell(
        "ulimit -f 1; svc-pg init --yes", folder=shop.folder, variables={"DATABASE_URL": shop.conninfo}, code=1
    )
    assert "error: svc-pg.toml cannot be written: File too large\n" in told
    assert list(shop.folder.iterdir()) == []
    assert shop.run("init", "--yes").returncode == 0


def test_a_folder_that_cannot_be_written_is_told_before_anything_else() -> None:
    nowhere = {"DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    done = svc_pg("init", "--yes", folder=Path("/proc/sys/net"), variables=nowhere)
    assert done.returncode == 1
    assert done.stderr.startswith("error: this folder cannot be written: /proc/sys/net\nhint: Run it in the project")


def test_a_folder_in_which_no_file_can_be_made_is_told(shop: Shop) -> None:
    done = svc_pg("init", "--yes", folder=Path("/dev/pts"), variables={"DATABASE_URL": shop.conninfo})
    assert (done.returncode, "error: " in done.stderr, "cannot be written" in done.stderr) == (1, True, True)


def test_a_configuration_that_was_cut_in_the_middle_is_told_and_kept(shop: Shop) -> None:
    assert shop.run("init", "--yes").returncode == 0
    whole = shop.file.read_text(encoding="utf-8")
    cut = whole[: whole.index("public.customer")]
    shop.file.write_text(cut, encoding="utf-8")
    done = shop.run("init", "--yes")
    assert done.returncode == 1
    assert done.stderr.startswith("error: svc-pg.toml: not valid TOML")
    assert "hint: Correct it, or move it away to have a new one." in done.stderr
    assert shop.file.read_text(encoding="utf-8") == cut
    shop.file.unlink()
    shop.file.symlink_to(shop.file)
    looped = shop.run("init", "--yes")
    assert looped.returncode == 1
    assert looped.stderr.startswith("error: svc-pg.toml: cannot be read: Too many levels of symbolic links\nhint: Corr")


def test_beside_broken_files_it_proposes_and_names_them(shop: Shop) -> None:
    (shop.folder / "app.py").write_text("from flask import Flask\napp = Flask(\n", encoding="utf-8")
    (shop.folder / "data.py").write_text("#" * 50 * 1024 * 1024, encoding="utf-8")
    (shop.folder / "again").symlink_to(shop.folder)
    (shop.folder / "pyproject.toml").symlink_to("pyproject.toml")
    done = shop.run("init", "--yes")
    assert done.returncode == 0, done.stderr
    assert "note: app.py was passed over: line 2 is no Python 3." in done.stderr
    assert "note: data.py was passed over: it has more than 1,024 KiB.\n" in done.stderr
    assert shop.file.exists()


def test_a_database_that_does_not_answer_is_an_error_in_time(shop: Shop) -> None:
    with socket.socket() as silent:  # it listens, and nobody accepts
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        address = f"postgresql://shop:secret@127.0.0.1:{silent.getsockname()[1]}/shop?connect_timeout=2"
        done = shop.run("init", "--yes", conninfo=address)
    assert (done.returncode, shop.file.exists()) == (1, False)
    assert done.stderr.startswith("error: no connection to the database: ")
    assert "secret" not in done.stderr
