"""A client that openapi-typescript makes of the document, type-checked, finds what those in Python do."""

import json
from pathlib import Path
from shutil import copy

import pytest

from tests.e2e.test_generated_clients import TYPESCRIPT_OPTIONS, run
from tests.integration.console.client_server import serving_clients
from tests.support.client_behaviours import EXPECTED
from tests.support.documents import ROOT, examples
from tests.support.generators import typescript_modules

pytestmark = pytest.mark.timeout(300)  # a compiler, whatever else the machine does

CALLS = ROOT / "tests" / "support" / "client_behaviours.ts"


def test_a_client_in_typescript_finds_what_those_in_python_do(database: str, tmp_path: Path) -> None:
    modules = typescript_modules()
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}), encoding="utf-8")
    copy(CALLS, tmp_path / "calls.ts")
    with serving_clients(database) as served:
        (tmp_path / "document.json").write_text(served.document, encoding="utf-8")
        run([modules / ".bin" / "openapi-typescript", "document.json", "-o", "shop.d.ts"], tmp_path)
        run([modules / ".bin" / "tsc", *TYPESCRIPT_OPTIONS, "calls.ts"], tmp_path)
        tokens = [served.tokens[name] for name in ("operator", "reader", "customer")]
        found = json.loads(run(["node", "calls.js", served.base_url, *tokens], tmp_path))
    assert found == EXPECTED


def test_the_commands_of_the_page_make_a_client_and_check_its_example(database: str, tmp_path: Path) -> None:
    modules = typescript_modules()
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}), encoding="utf-8")
    _, commands = examples("api.md", "Use a client", "sh")
    _, make, check = commands.splitlines()
    [example] = examples("api.md", "Use a client", "ts")
    (tmp_path / "shop.ts").write_text(f"declare const token: string\n{example}", encoding="utf-8")
    with serving_clients(database) as served:
        made = make.removeprefix("npx ").replace("https://shop.example/.well-known/svc", served.base_url)
        run([modules / ".bin" / made.split()[0], *made.split()[1:]], tmp_path)
    checked = check.removeprefix("npx ").split()
    run([modules / ".bin" / checked[0], *checked[1:]], tmp_path)
    assert checked[1:-1] == [*TYPESCRIPT_OPTIONS]
