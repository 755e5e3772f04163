"""``svc-pg serve`` tells all that is wrong with its environment and options before it connects to anything."""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.commands import svc_pg


def test_a_broken_environment_is_told_as_a_whole(tmp_path: Path) -> None:
    broken = {
        "SVC_ENCRYPTION_KEYS": "k1:hunter2-hunter2",
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH": "sha256:abc",
        "SVC_CONSOLE_AUTO_APPROVE": "true",
        "SVC_CONSOLE_ALLOWED_ORIGINS": '["*"]',
        "SVC_CONSOLE_MAX_ATTEMPTS": "x",
    }
    done = svc_pg("serve", "--database-url", "host=127.0.0.1 port=9", folder=tmp_path, variables=broken)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ConsoleAutoApproveInProductionError: SVC_CONSOLE_AUTO_APPROVE is on")
    assert len(done.stderr.splitlines()) == len(broken)
    for variable in broken:
        assert variable in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/.well-known/svc", "all below /.well-known/svc is the console's"),
        ("/.well-known/svc/webhooks", "all below /.well-known/svc is the console's"),
        ("/api/../.well-known/svc", "write a path such as /api/webhooks"),
        ("/{anything}", "write a path such as /api/webhooks"),
        ("/api/", "write a path such as /api/webhooks"),
        ("//", "write a path such as /api/webhooks"),
        ("api", "write a path such as /api/webhooks"),
        ("", "write a path such as /api/webhooks"),
    ],
)
def test_the_api_of_webhooks_has_a_plain_path_of_its_own(tmp_path: Path, path: str, message: str) -> None:
    done = svc_pg("serve", "--webhooks-path", path, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.replace("\u2502", "").split())


@pytest.mark.parametrize("key_id", ["a b", "", "k" * 33, "k1:x"])
def test_what_cannot_be_the_id_of_a_key_is_wrong_usage(tmp_path: Path, key_id: str) -> None:
    done = svc_pg("keys", "new", "encryption", "--id", key_id, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    said = " ".join(done.stderr.replace("\u2502", "").split())
    assert f"--id: {key_id!r} cannot be the id of a key. Write 1 to 32 letters" in said


def test_init_shows_the_token_that_the_hash_is_of_apart_from_the_line_for_the_environment(tmp_path: Path) -> None:
    made = svc_pg("console", "init", folder=tmp_path)
    [line] = [line for line in made.stderr.splitlines() if line.startswith("The connection token")]
    token = line.rpartition(" ")[2]
    assert made.stdout == f"SVC_CONSOLE_CONNECTION_TOKEN_HASH=sha256:{sha256(token.encode()).hexdigest()}\n"
