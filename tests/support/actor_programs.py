"""The programs of other languages that run the functions of docs/howto/actors-in-other-languages.md."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

JARS: Final = "/usr/share/java"
GEMS: Final = "/usr/share/rubygems-integration/all/gems"
PG_OF_RUBY: Final = "/usr/lib/*/ruby/vendor_ruby/*/pg_ext.so"


class Program(NamedTuple):
    """The command that runs ``main`` of a folder of actors/, by default that of its name, with functions of the page.

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
