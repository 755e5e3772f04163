"""Programs in other languages name the actor as docs/howto/actors-in-other-languages.md shows it."""

import json
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit
from tests.support import debian
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
JARS: Final = "/usr/share/java"
GEMS: Final = "/usr/share/rubygems-integration/all/gems"
PG_OF_RUBY: Final = "/usr/lib/*/ruby/vendor_ruby/*/pg_ext.so"


class Program(NamedTuple):
    """What runs ``main`` of a folder of actors/, by default the one of its name, with the functions of the page.

    ``blocks`` has the language, the section and the file of each function; ``shared`` the file that reads the steps;
    ``needs`` the programs and files with their packages of Debian, ``modules`` the packages of npm, if any. What is
    slow takes more than ten seconds, or a large toolchain.
    """

    blocks: Sequence[tuple[str, str, str]]
    commands: Sequence[str]
    needs: Mapping[str, str]
    shared: str | None = None
    modules: Sequence[str] = ()
    is_slow: bool = False
    folder: str | None = None


def in_node(section: str, *modules: str, commands: Sequence[str] = (), is_slow: bool = False) -> Program:
    blocks = [("js", section, "actor.mjs"), ("js", "Node: the pool", "pool.mjs")]
    return Program(blocks, (*commands, "node main.mjs"), {"node": "nodejs"}, "steps.mjs", modules, is_slow)


def in_php(section: str, needs: dict[str, str], *, is_slow: bool = False) -> Program:
    everywhere = {"php": "php8.2-cli"}
    return Program([("php", section, "actor.php")], ["php main.php"], everywhere | needs, "steps.php", (), is_slow)


def in_java(
    sections: Sequence[tuple[str, str]], jars: Mapping[str, str], options: str = "", *, is_slow: bool = False
) -> Program:
    path = ":".join([".", *(f"{JARS}/{jar}" for jar in jars)])
    needs = {"javac": "openjdk-17-jdk-headless"} | {f"{JARS}/{jar}": package for jar, package in jars.items()}
    commands = [f"javac -cp {path} Main.java", f"java -cp {path} {options} Main"]
    return Program([("java", *each) for each in sections], commands, needs, "Steps.java", (), is_slow)


SETTINGS: Final = {
    "LANG": "C.UTF-8",
    "PRISMA_SCHEMA_ENGINE_BINARY": "/bin/true",  # or it would be fetched, and nothing here calls it
}
JDBC: Final = ("Java: JDBC", "Actor.java")
JDBC_JARS: Final = {
    "postgresql.jar": "libpostgresql-jdbc-java",
    "HikariCP.jar": "libhikaricp-java",
    "slf4j-api.jar": "libslf4j-java",
}
PROGRAMS: Final = {
    "pg": in_node("Node: pg", "pg@8"),
    "session": in_node("Without a transaction", "pg@8")._replace(folder="pg"),
    "drizzle": in_node("Node: Drizzle", "pg@8", "drizzle-orm@0.45"),
    "prisma": in_node(
        "Node: Prisma",
        *("prisma@7", "@prisma/client@7", "@prisma/adapter-pg@7"),
        commands=["node node_modules/prisma/build/index.js generate"],
        is_slow=True,
    ),
    "pgx": Program(
        [("go", "Go: pgx", "audit/actor.go")],
        ["go get github.com/jackc/pgx/v5/pgxpool@v5", "go run ."],
        {"go": "golang-go"},
        is_slow=True,
    ),
    "activerecord": Program(
        [("ruby", "Ruby on Rails", "application_record.rb")],
        ["ruby main.rb"],
        {"ruby": "ruby", f"{GEMS}/activerecord-*": "ruby-activerecord", PG_OF_RUBY: "ruby-pg"},
    ),
    "pdo": in_php("PHP: PDO", {"/usr/share/php8.2-pgsql": "php8.2-pgsql"}),
    "laravel": in_php("Laravel", {"/usr/share/php/Illuminate/Database": "php-illuminate-database"}, is_slow=True),
    "jdbc": in_java([JDBC], JDBC_JARS),
    "hibernate": in_java(
        [JDBC, ("Java: Hibernate", "Acting.java")],
        JDBC_JARS
        | {
            "hibernate3.jar": "libhibernate3-java",
            "hibernate-commons-annotations.jar": "libhibernate-commons-annotations-java",
        }
        | {"dom4j.jar": "libdom4j-java", "commons-collections3.jar": "libcommons-collections3-java"}
        | {"geronimo-jta-1.2-spec.jar": "libgeronimo-jta-1.2-spec-java", "antlr.jar": "libantlr-java"}
        | {"geronimo-jpa_2.0_spec.jar": "libgeronimo-jpa-2.0-spec-java", "javassist.jar": "libjavassist-java"},
        is_slow=True,
    ),
}


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
