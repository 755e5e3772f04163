"""The commands, the job and the configuration of Prometheus in docs/howto/monitor.md watch a worker and a log."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import yaml
from psycopg.conninfo import make_conninfo

from svc_pg.audit import SealKey
from tests.support import debian
from tests.support.commands import running
from tests.support.documents import ROOT, examples
from tests.support.hooks import KEYS_TEXT
from tests.support.ports import free_port
from tests.support.roles import execute, new_role
from tests.support.shell import command
from tests.support.tables import audited, create_and_audit
from tests.support.waiting import wait_until

PAGE = "howto/monitor.md"
TOML = '[[audit.tables]]\nname = "customer"\n'
KEY = SealKey("s1", b"k" * 32)


@contextmanager
def prometheus(configuration: str, folder: Path) -> Iterator[httpx.Client]:
    """Prometheus with that configuration, the documented alerts beside it, and its own defaults."""
    shutil.copy(ROOT / "docs" / "alerts.yml", folder)
    file = folder / "prometheus.yml"
    file.write_text(configuration, encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    program = debian.program("prometheus", package="prometheus")
    options = (f"--config.file={file}", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address}")
    with (folder / "output").open("wb") as output, httpx.Client(base_url=f"http://{address}/api/v1", timeout=30) as api:
        process = subprocess.Popen([program, *options], stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        try:
            yield api
        finally:
            process.terminate()
            process.wait()


def asked(api: httpx.Client, path: str, **query: str) -> Any:
    """What Prometheus tells, nothing before it listens."""
    try:
        answer = api.get(path, params=query)
    except httpx.TransportError:
        return {}
    return answer.json()["data"] if answer.is_success else {}


def test_prometheus_scrapes_a_worker_at_its_defaults_and_reads_the_alerts(database: str, tmp_path: Path) -> None:
    [started] = examples(PAGE, language="sh")
    [configuration] = examples(PAGE, language="yaml")
    port = free_port()
    program, *arguments = shlex.split(started.splitlines()[-1].replace("9464", str(port)))
    assert (program, "worker-1:9464" in configuration) == ("svc-pg", True)
    configuration = configuration.replace("worker-1:9464", f"127.0.0.1:{port}").replace(', "worker-2:9464"', "")
    often = "global: {scrape_interval: 250ms, scrape_timeout: 250ms}\n"  # a minute otherwise
    variables = {"DATABASE_URL": database, "SVC_ENCRYPTION_KEYS": KEYS_TEXT}
    with (
        running(*arguments, folder=tmp_path, variables=variables),
        prometheus(often + configuration, tmp_path) as api,
    ):
        query = 'svc_webhook_database_up{job="svc-pg"}'
        wait_until(
            lambda: [each["value"][1] for each in asked(api, "/query", query=query).get("result", [])] == ["1"],
            "Prometheus has scraped the worker",
            limit=timedelta(seconds=30),
        )
        [target] = asked(api, "/targets")["activeTargets"]
        assert (target["health"], target["lastError"]) == ("up", "")
        [group] = asked(api, "/rules")["groups"]
        assert {"WebhooksLate", "WebhookWorkersGone"} < {rule["name"] for rule in group["rules"]}
        paths = {path: httpx.get(f"http://127.0.0.1:{port}{path}").status_code for path in ("/healthz", "/readyz")}
        assert paths == {"/healthz": 200, "/readyz": 200}


def test_the_checks_of_a_schedule_exit_with_0_and_with_3_if_something_is_wrong(database: str, tmp_path: Path) -> None:
    create_and_audit(database, "create table customer (id int primary key)", audited("customer"))
    (tmp_path / "svc-pg.toml").write_text(TOML, encoding="utf-8")
    [checks] = examples(PAGE, "Check the audit log", "sh")
    status, verify, reconcile, health = (line for line in checks.splitlines() if not line.startswith("#"))
    [manifest] = examples(PAGE, "Check the audit log", "yaml")
    [container] = yaml.safe_load(manifest)["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert shlex.join(container["command"]) == status
    with new_role(database) as admin, new_role(database) as reader:
        execute(database, "grant svc_admin to {}", admin)
        execute(database, "grant select, update on customer to {}", admin)
        execute(database, "grant svc_reader to {}", reader)
        roles = {status: admin, verify: reader, reconcile: admin, health: reader}

        def check(line: str, code: int = 0) -> str:
            url = make_conninfo(database, user=roles[line])
            keys = {"SVC_SEAL_PUBLIC_KEYS": KEY.public.text}
            return command(line, folder=tmp_path, variables={"DATABASE_URL": url, **keys}, code=code)

        with psycopg.connect(database) as conn:
            conn.execute("insert into customer values (1)")
        command("svc-pg seal", folder=tmp_path, variables={"DATABASE_URL": database, "SVC_SEAL_KEY": KEY.text})
        for line in roles:
            check(line)
        with psycopg.connect(database) as conn:
            conn.execute("alter table svc.audit_logs disable trigger all; delete from svc.audit_logs")
            conn.execute("alter table svc.audit_logs enable trigger all; alter table customer disable trigger all")
        assert "customer" in check(status, 3)
        assert "was deleted" in check(verify, 3)
        assert "missing" in check(reconcile, 3)
        execute(database, "revoke all on customer from {}", admin)
