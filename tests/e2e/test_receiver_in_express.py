"""The receiver of docs/howto in Express reads the body as the page says."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret
from tests.support import debian
from tests.support.commands import environment
from tests.support.documents import examples, inline
from tests.support.packages import node_modules

PAGE: Final = "howto/receive-in-other-languages.md"
SECRET: Final = new_secret()
MAIN: Final = """
import express from "express";
import {{ isAuthentic }} from "./webhook.mjs";

const app = express();
app.post("/", {reader}, (request, response) => {{
  response.sendStatus(isAuthentic("{secret}", request.headers, request.body) ? 204 : 401);
}});
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""
LARGEST: Final = b"[" + b" " * (256 * 1024) + b"]"


@contextmanager
def express(folder: Path) -> Iterator[httpx.Client]:
    """Enter to get a client of an application with the example; leaving stops it."""
    node = debian.program("node", package="nodejs")
    [reader] = inline(PAGE, "Node", start="express.raw(")
    (folder / "node_modules").symlink_to(node_modules("express@5"))
    (folder / "webhook.mjs").write_text(examples(PAGE, "Node", "js")[0])
    (folder / "main.mjs").write_text(MAIN.format(reader=reader, secret=SECRET))
    with subprocess.Popen(
        [node, "main.mjs"], cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            with httpx.Client(base_url=f"http://127.0.0.1:{int(process.stdout.readline())}") as client:
                yield client
        finally:
            process.terminate()


def test_express_gives_the_function_every_body_that_a_delivery_may_have(tmp_path: Path) -> None:
    headers = sign(delivery_id="1", timestamp=int(time.time()), body=LARGEST, secrets=[SECRET])
    with express(tmp_path) as client:
        kinds: list[dict[str, str]] = [{"content-type": "application/json"}, {"content-type": "text/plain"}, {}]
        authentic = [client.post("/", content=LARGEST, headers=headers | kind).status_code for kind in kinds]
        changed = client.post("/", content=LARGEST[1:], headers=headers).status_code
        without_a_body = client.post("/", headers=headers).status_code
    assert authentic == [204, 204, 204]
    assert (changed, without_a_body) == (401, 401)
