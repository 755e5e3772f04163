"""Programs in other languages name the actor as docs/howto/actors-in-other-languages.md shows it."""

import json
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from tests.support import debian
from tests.support.actor_programs import PROGRAMS, SETTINGS
from tests.support.commands import environment
from tests.support.documents import examples
from tests.support.packages import node_modules
from tests.support.pgbouncer import pgbouncer
from tests.support.postgres import Prepare
from tests.support.tables import audited, create_and_audit

PAGE: Final = "howto/actors-in-other-languages.md"
FRAMES: Final = Path(__file__).with_name("actors")
TABLE: Final = """
create table invoice (id int primary key, status text, backend int);
create function lose() returns trigger language plpgsql as $$
begin
    perform pg_terminate_backend(pg_backend_pid());
    return new;
end $$;
create trigger lose before update on invoice for each row when (new.status = 'lost') execute function lose();
"""
ODD: Final = "o'hara \"\\'; --\n\r\t$1 ? :id {} é山🦆"
CONTEXT: Final = {"request_id": "r-1", "reason": ODD}


@pytest.fixture(scope="module")
def prepare() -> Prepare:
    def prepare(conninfo: str) -> None:
        create_and_audit(conninfo, TABLE, audited("invoice"))
        with psycopg.connect(conninfo) as conn:
            conn.execute("insert into invoice values (7, 'open')")

    return prepare


def step(status: str, way: str = "acts", **fields: str) -> str:
    """A line of input for the programs: names with values in base64."""
    given = fields | {"status": status, "way": way}
    return " ".join(f"{name}:{b64encode(value.encode()).decode()}" for name, value in given.items()) + "\n"


STEPS: Final = (
    step("of one user", actor="mara", tenant="acme", context=json.dumps(CONTEXT)),
    step("of the next", actor="ben"),
    step("never", "fails", actor="eve", tenant="acme", context=json.dumps(CONTEXT)),
    step("after a failure", actor="zoe"),
    step("of nobody"),
    step("never", "fails", actor="eve", tenant="acme", context=json.dumps(CONTEXT)),
    step("outside", "plain"),
    step("of odd letters", actor=ODD, tenant=ODD),
    step("outside again", "plain"),
)
LOSS: Final = (
    step("lost", actor="eve", tenant="acme"),
    step("after a loss", actor="ada"),
    step("outside yet", "plain"),
)
FOUND: Final = [
    ("of one user", "mara", "acme", CONTEXT),
    ("of the next", "ben", None, None),
    ("after a failure", "zoe", None, None),
    ("of nobody", None, None, None),
    ("outside", None, None, None),
    ("of odd letters", ODD, ODD, None),
    ("outside again", None, None, None),
]
AFTER_LOSS: Final = [("after a loss", "ada", None, None), ("outside yet", None, None, None)]


def written(name: str, folder: Path, conninfo: str, steps: Sequence[str] = (*STEPS, *LOSS)) -> list[audit.Entry]:
    """The entries, oldest first, after the program has taken the steps."""
    blocks, commands, needs, shared, modules, is_slow, frame = PROGRAMS[name]
    debian.need(needs, is_slow=is_slow)
    shutil.copytree(FRAMES / (frame or name), folder, dirs_exist_ok=True)
    if shared:
        shutil.copy(FRAMES / shared, folder)
    for language, section, file in blocks:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(examples(PAGE, section, language)[0], encoding="utf-8")
    if modules:
        (folder / "node_modules").symlink_to(node_modules(*modules))
    server = conninfo_to_dict(conninfo)
    place = {f"PG{name.upper()}": str(server[name]) for name in ("host", "port", "user")}
    variables = environment(**place, PGDATABASE=str(server["dbname"]), **SETTINGS)
    for command in commands:
        done = subprocess.run(
            command.split(),
            cwd=folder,
            env=variables,
            input="".join(steps),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    with psycopg.connect(conninfo) as conn:
        return [*reversed(audit.query().operation("UPDATE").list(conn).data)]


def found(entries: Sequence[audit.Entry]) -> list[tuple[object, ...]]:
    return [(after(entry)["status"], entry.actor_id, entry.tenant_id, entry.context) for entry in entries]


def after(entry: audit.Entry) -> Mapping[str, object]:
    assert entry.after_data
    return entry.after_data


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "session"])
def test_each_user_of_one_pooled_connection_is_named_and_leaves_nothing_to_the_next(
    database: str, tmp_path: Path, name: str
) -> None:
    entries = written(name, tmp_path, database)
    assert found(entries) == [*FOUND, *AFTER_LOSS]
    assert [len(list(same)) for _, same in groupby(after(entry)["backend"] for entry in entries)] == [7, 2]


def test_a_setting_of_the_session_ends_when_its_connection_returns_to_the_pool(database: str, tmp_path: Path) -> None:
    failed = [("never", "eve", "acme", CONTEXT)]  # which are no transactions, so what they wrote before stays
    assert found(written("session", tmp_path, database)) == [
        *FOUND[:2],
        *failed,
        *FOUND[2:4],
        *failed,
        *FOUND[4:],
        *AFTER_LOSS,
    ]


@pytest.mark.parametrize("name", ["activerecord", "laravel"])
def test_an_inner_call_names_the_actor_of_the_rest_of_the_transaction(database: str, tmp_path: Path, name: str) -> None:
    entries = written(name, tmp_path, database, [step("outer", "nests", actor="mara"), step("next", actor="ben")])
    actors = [(status, actor) for status, actor, *_ in found(entries)]
    assert actors == [("outer", "mara"), ("inside", "inner"), ("afterwards", "inner"), ("next", "ben")]


@pytest.mark.parametrize("name", ["pdo", "laravel"])
def test_php_writes_nothing_under_a_context_that_has_no_json(database: str, tmp_path: Path, name: str) -> None:
    steps = [step("never", "garbles", actor="eve"), step("after it", actor="ben")]
    assert found(written(name, tmp_path, database, steps)) == [("after it", "ben", None, None)]


def test_a_connection_that_could_not_roll_back_is_closed(database: str, tmp_path: Path) -> None:
    steps = [step("before", actor="mara"), step("never", "sticks", actor="eve"), step("outside", "plain")]
    entries = written("pg", tmp_path, database, steps)
    assert found(entries) == [("before", "mara", None, None), ("outside", None, None, None)]
    assert len({after(entry)["backend"] for entry in entries}) == 2


def test_users_behind_pgbouncer_are_named_and_leave_nothing_to_the_next(database: str, tmp_path: Path) -> None:
    with pgbouncer(database) as pooled:
        assert found(written("pg", tmp_path, pooled, STEPS)) == FOUND
