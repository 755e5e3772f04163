"""The commands of docs/howto/first-day.md, in their order, bring a shop into production and back from its backup."""

import configparser
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial, reduce
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg import audit, webhooks
from svc_pg.database.query import scalar
from tests.support.commands import Process, running
from tests.support.documents import examples, inline
from tests.support.ports import free_port
from tests.support.postgres import URL_VARIABLE, embedded_programs, restartable
from tests.support.receiver import receiving
from tests.support.server_programs import major
from tests.support.shell import command, shell
from tests.support.waiting import wait_until

PAGE = "howto/first-day.md"
OF_THE_SHOP = """
[audit]
retention_days = 365
[[audit.tables]]
name = "customer"
[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events."order.paid"]
"""
RUN_BEFORE = {f"svc-pg {each}" for each in ("install", "plan", "status", "seal", "webhooks health", "webhooks update")}
"""What blocks of the page have, and an update whose option stands elsewhere in its line."""
TABLES = """
create role shop login;
create table customer (id int primary key, name text);
grant all on customer to shop;
"""


class Day:
    """The shop's machine: its folders stand for /srv/shop and /etc/shop, and free ports for those of the page."""

    def __init__(self, folder: Path, programs: Path, server: str, other: str) -> None:
        self.srv, self.etc, self.programs = folder / "srv", folder / "etc", programs
        self.srv.mkdir()
        self.etc.mkdir()
        self.server, self.other = (self.libpq(each) for each in (server, other))
        self.worker, self.console = free_port(), free_port()
        self.names = {
            "/srv/shop": str(self.srv),
            "/etc/shop": str(self.etc),
            "@db/shop_copy": "@127.0.0.1:{PGPORT}/shop_copy".format(**self.other),
            "@db/shop": "@127.0.0.1:{PGPORT}/shop".format(**self.server),
            "127.0.0.1:9464": f"127.0.0.1:{self.worker}",
            "--metrics-port 9464": f"--metrics-port {self.worker}",
            "--port 8000": f"--port {self.console}",
            "https://console.corp.example/.well-known": f"http://127.0.0.1:{self.console}/.well-known",
        }

    @staticmethod
    def libpq(conninfo: str) -> dict[str, str]:
        found = conninfo_to_dict(conninfo)
        return {f"PG{each.upper()}": str(found[each]) for each in ("host", "port", "user")}

    def here(self, text: str) -> str:
        """The text with the names of this machine."""
        for name, ours in self.names.items():
            text = text.replace(name, ours)
        return text

    def run(self, script: str, *, is_elsewhere: bool = False) -> str:
        """Run a block in the shop's folder. Units are started by the test, as nothing here runs systemd."""
        variables = self.other if is_elsewhere else self.server
        script = f"systemctl() {{ :; }}\n{self.here(script)}"
        return shell(script, folder=self.srv, variables=variables, programs=self.programs)

    def command(self, line: str) -> str:
        """Run one command with the variables of the services."""
        return command(line, folder=self.srv, variables=environment_file(f"{self.etc}/svc-pg.env"))

    def operate(self, script: str, *, is_elsewhere: bool = False) -> str:
        """Run a block with the variables of the services, as the page shows it."""
        [first, *_] = examples(PAGE, "Send one webhook", "sh")[0].splitlines()
        return self.run(f"{first}\n{script}", is_elsewhere=is_elsewhere)

    @contextmanager
    def unit(self, text: str) -> Iterator[Process]:
        """What systemd runs for a unit, until the block ends."""
        parser = configparser.ConfigParser()
        parser.read_string(self.here(text))
        service = parser["Service"]
        program, *arguments = shlex.split(service["ExecStart"])
        assert program == f"{self.srv}/venv/bin/svc-pg"
        with running(
            *arguments, folder=Path(service["WorkingDirectory"]), variables=environment_file(service["EnvironmentFile"])
        ) as process:
            yield process
            process.terminate()
            assert process.wait() == 0


def environment_file(name: str) -> dict[str, str]:
    """The variables of a file as systemd reads it: lines with a name, and a value that may be quoted."""
    lines = [line for line in Path(name).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {name: "".join(shlex.split(value)) for name, _, value in (line.partition("=") for line in lines)}


@pytest.fixture
def day(postgres_choice: str | None, tmp_path: Path) -> Iterator[Day]:
    if os.environ.get(URL_VARIABLE):
        pytest.skip(f"needs two servers of its own, and {URL_VARIABLE} names one")
    folder = Path(postgres_choice or "")
    programs = folder if postgres_choice and folder.is_dir() else embedded_programs()
    clients = programs if (programs / "pg_restore").exists() else embedded_programs()
    if major(programs) != major(clients):
        pytest.skip(f"pg_restore of PostgreSQL {major(clients)} sets what {major(programs)} does not know")
    with ExitStack() as stack:
        servers = [stack.enter_context(stack.enter_context(restartable(programs))()) for _ in range(2)]
        yield Day(tmp_path, clients, *servers)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=10).is_success
    except httpx.TransportError:
        return False


@pytest.mark.timeout(400)  # of some twenty programs
def test_the_commands_of_the_first_day_work_in_their_order(day: Day) -> None:
    install(day)
    make_keys(day)
    [of_worker, *_] = examples("operations.md", "Start and stop", "ini")
    [of_console] = examples(PAGE, "Start the console behind a proxy", "ini")
    with receiving() as receiver:
        with day.unit(of_worker), day.unit(of_console):
            worker, console = f"http://127.0.0.1:{day.worker}", f"http://127.0.0.1:{day.console}/.well-known/svc"
            for url in (f"{worker}/readyz", f"{console}/console/ready"):
                wait_until(partial(answers, url), f"{url} answers", limit=timedelta(seconds=30))
            for section in ("Start the worker", "Start the console behind a proxy"):
                [started] = examples(PAGE, section, "sh")
                day.run(started)
            [sign_in] = inline(PAGE, "Start the console behind a proxy", start="svc-pg console sign-in")
            assert "https://console.corp.example/.well-known/svc/ui/sign-in/link?token=" in day.command(sign_in)
            endpoint = send(day, receiver.url)
            received = receiver.wait_for(2)
        assert {json.loads(each.body)["type"] for each in received} == {"webhook.ping", "order.paid"}
    delivery = look_around(day, endpoint)
    restore(day, delivery)


def connect(day: Day, database: str = "shop", user: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(host="127.0.0.1", port=day.server["PGPORT"], user=user, dbname=database)


def install(day: Day) -> None:
    """Make the shop, and install into it with roles."""
    day.run("createdb shop")
    [role] = examples(PAGE, "Install with roles", "sql")
    with connect(day) as conn:
        conn.execute(TABLES.encode())
        conn.execute(role.encode())
    [grants] = examples(PAGE, "Install with roles", "toml")
    assert grants.startswith("# /srv/shop/svc-pg.toml\n")
    (day.srv / "svc-pg.toml").write_text(grants + OF_THE_SHOP, encoding="utf-8")
    [commands] = examples(PAGE, "Install with roles", "sh")
    printed = day.run(commands)
    assert "create schema svc" in printed
    assert "nothing to install" not in printed
    with connect(day, user="shop") as conn, audit.actor(conn, "mara"):
        conn.execute("insert into customer values (7, 'Ann')")


def make_keys(day: Day) -> None:
    """Fill the file of the services' secrets, which nobody else may read."""
    made, added = examples(PAGE, "Make the keys, and back them up", "sh")
    day.run(made)
    file = day.etc / "svc-pg.env"
    assert file.stat().st_mode & 0o077 == 0
    assert added.startswith("# add to /etc/shop/svc-pg.env\n")
    with file.open("a", encoding="utf-8") as stream:
        stream.write(day.here(added))
    [public] = inline(PAGE, "Make the keys, and back them up", start="SVC_SEAL_PUBLIC")
    assert {public, "SVC_SEAL_KEY", "SVC_ENCRYPTION_KEYS"} < environment_file(str(file)).keys()


def send(day: Day, url: str) -> str:
    """Add an endpoint, ping it, and send it what the shop sends; return its id."""
    [commands] = examples(PAGE, "Send one webhook", "sh")
    lines = commands.replace("https://receiver.example/hook", url).splitlines()
    added = next(number for number, line in enumerate(lines) if line.startswith("svc-pg webhooks add"))
    assert "whsec_" in day.run("\n".join(lines[: added + 1]))
    with connect(day) as conn:
        endpoint: str = str(scalar(conn, "select id from svc.webhook_endpoints"))
    with connect(day, user="shop") as conn:
        webhooks.send(conn, "order.paid", {"id": 7})
    day.operate("\n".join(lines[added + 1 :]).replace("ENDPOINT", endpoint))
    return endpoint


def look_around(day: Day, endpoint: str) -> str:
    """Run what the last section tells to look at; return the id of a delivery."""
    section = "If something is wrong"
    with connect(day) as conn:
        delivery = str(scalar(conn, "select id from svc.webhook_deliveries order by id limit 1"))
    day.command("svc-pg seal --to seals")
    told = {*inline(PAGE, section), *(f"svc-pg {each}" for each in inline(PAGE, section, start="webhooks "))}
    names = {"ENDPOINT": endpoint, "delivery ID": f"delivery {delivery}", "FILE": "seals"}
    for line in sorted(told - RUN_BEFORE):
        day.command(reduce(lambda text, name: text.replace(name, names[name]), names, line))
    with connect(day, user="shop_ops") as conn:
        for query in inline(PAGE, section, start="select "):
            if "NAME" not in query:
                conn.execute(query.encode())
    [purge] = examples(PAGE, section, "sh")
    for line in purge.splitlines():
        day.command(line)
    return delivery


def restore(day: Day, delivery: str) -> None:
    """Dump the shop, and restore it on another server."""
    dump, restoring = examples(PAGE, "Back up and restore", "sh")
    day.run(dump)
    printed = day.operate(restoring.replace("DELIVERY", delivery), is_elsewhere=True)
    assert "0 without a seal" in printed
    assert "webhook-signature: v1," in printed
