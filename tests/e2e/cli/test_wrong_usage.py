"""Options, configuration and environment that are wrong are explained in our words, without a library's."""

from pathlib import Path

import pytest

from tests.support.commands import svc_pg

TOML = """
[audit]
retention_days = "long"
[[audit.tables]]
name = 3
level = "rows"
[webhooks]
allow_http = "perhaps"
[grants]
send = "app"
"""
ADD = ["webhooks", "add", "--url", "https://example.com", "--event", "*"]
NOBODY = "00000000-0000-7000-8000-000000000000"


def refusal(folder: Path, *arguments: str) -> str:
    """The words about a wrong usage, without the frame around them."""
    done = svc_pg(*arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    return " ".join(done.stderr.replace("│", "").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["worker", "--processes", "x"], "'--processes': write a whole number"),
        (["worker", "--processes", "0"], "'--processes': write 1 or more"),
        (["worker", "--seal-to", "x"], "--seal-to: only a worker that maintains and has SVC_SEAL_KEY seals"),
        (["worker", "--interval", "soon"], "'--interval': 'soon' is not a duration; write 30s"),
        (["worker", "--interval", "9"], "'--interval': '9' is less than 10 milliseconds"),
        (["serve", "--port", "70000"], "'--port' (env var: 'SVC_SERVE_PORT'): write 65535 or less"),
        (["log", "--limit", "ten"], "'--limit': write a whole number"),
        (["log", "--between", "10:00"], "'--between': '10:00' is not a period; write 10:00 to 11:00, 2026-01-31 10:00"),
        (["log", "--between", "11:00 to 10:00"], "'--between': '11:00 to 10:00' does not end after it begins"),
        (
            ["export", "--since", "1h", "--between", "x"],
            "'--between': it has a beginning and an end, so leave out --since",
        ),
        (["webhooks", "traffic", "--until", "1h", "--between", "x"], "so leave out --until"),
        (["webhooks", "messages", "--between", "x"], "'--between': 'x' is not a period"),
        (["log", "--follow", "--between", "10:00 to 11:00"], "--follow: what is followed has no end, so leave out"),
        (["export", "--format", "xml"], "'xml' is not one of 'json', 'ndjson', 'csv', 'parquet'"),
        (["console", "revoke", "7"], "'ID': not an id: ids are UUIDs"),
        (["webhooks", "show"], "Missing argument"),
        ([*ADD, "--header", "Bearer x"], "--header: 'Bearer x' is not a header; write Name: value"),
        ([*ADD, "--header", "X-A: 1", "--header", "x-a: 2"], "--header: header 'x-a' occurs twice"),
    ],
)
def test_a_wrong_option_is_explained(tmp_path: Path, arguments: list[str], message: str) -> None:
    said = refusal(tmp_path, *arguments)
    assert message in said
    assert "Input should" not in said
    assert "Value error" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["install", "--lock-timeout"],
        ["send", "order.created", "{}", "--delay"],
        ["webhooks", "rotate-secret", NOBODY, "--overlap"],
        ["webhooks", "prune", "--delivered"],
        ["webhooks", "prune", "--failed"],
    ],
)
def test_a_wrong_duration_is_refused_with_the_forms_to_write(tmp_path: Path, arguments: list[str]) -> None:
    for value in ("90", "soon"):
        assert f"'{arguments[-1]}': '{value}' is not a duration; write 30s" in refusal(tmp_path, *arguments, value)


@pytest.mark.parametrize("value", ["3s", "23h", "40000d", "soon"])
def test_an_age_to_purge_by_is_refused_with_ages_to_write(tmp_path: Path, value: str) -> None:
    said = refusal(tmp_path, "purge", "--older-than", value)
    assert f"'{value}' is not an age to purge by; write 1 to 36500 days, such as 90d, 2w or 1y" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["log", "--since"],
        ["export", "--since"],
        ["export", "--until"],
        ["webhooks", "deliveries", "--since"],
        ["webhooks", "recover", NOBODY, "--since"],
    ],
)
def test_a_wrong_time_is_refused_with_both_forms(tmp_path: Path, arguments: list[str]) -> None:
    for value, what in (("soon", "is not a time"), ("2026-01-31T12:00", "has no time zone")):
        said = refusal(tmp_path, *arguments, value)
        assert f"'{arguments[-1]}': '{value}' {what}; write 1h, 7d, 2026-01-31 or 2026-01-31T12:00:00Z" in said


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"SVC_ENV": "prod"}, "SVC_ENV: write 'production', 'development' or 'test'"),
        ({"SVC_CONSOLE_AUTO_APPROVE": "maybe"}, "SVC_CONSOLE_AUTO_APPROVE: write true or false"),
        ({"SVC_CONSOLE_MAX_ATTEMPTS": "50"}, "SVC_CONSOLE_MAX_ATTEMPTS: write 20 or less"),
        ({"SVC_CONSOLE_ALLOWED_EMAILS": "garbage"}, "SVC_CONSOLE_ALLOWED_EMAILS: not JSON, or a name occurs twice"),
        ({"SVC_CONSOLE_ALLOWED_EMAILS": '["a@b.c"]'}, "SVC_CONSOLE_ALLOWED_EMAILS: write names with values"),
        ({"SVC_CONSOLE_ALLOWED_ORIGINS": '{"a": 1}'}, "SVC_CONSOLE_ALLOWED_ORIGINS: write a list"),
    ],
)
def test_a_wrong_variable_is_explained(tmp_path: Path, variables: dict[str, str], message: str) -> None:
    done = svc_pg("serve", folder=tmp_path, variables=variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {message}")


def test_a_wrong_file_is_explained_key_by_key_before_anything_is_connected_to(tmp_path: Path) -> None:
    Path(tmp_path, "svc-pg.toml").write_text(TOML, encoding="utf-8")
    done = svc_pg("status", "--database-url", "host=127.0.0.1 port=9", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: svc-pg.toml: audit.retention_days: 'long' is not a number of days; write 30 or 30d",
        "svc-pg.toml: audit.tables[0].name: write a text",
        "svc-pg.toml: audit.tables[0].level: write 'row' or 'statement'",
        "svc-pg.toml: webhooks.allow_http: write true or false",
        "svc-pg.toml: grants.send: write a list",
    ]


@pytest.mark.parametrize(
    ("reference", "reason"), [("missing.toml", "No such file or directory"), (".", "Is a directory")]
)
@pytest.mark.parametrize("command", ["install", "plan", "status", "migrate"])
def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path, command: str, reference: str, reason: str) -> None:
    done = svc_pg(command, "--config", reference, "--database-url", "host=127.0.0.1 port=9", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"error: {reference}: cannot be read: {reason}\n")


def test_what_looks_like_markup_or_an_emoji_is_repeated_as_it_is(tmp_path: Path) -> None:
    said = svc_pg("status", "--config", "a:b:[bold]", folder=tmp_path).stderr
    assert said.startswith("error: a:b:[bold]: cannot import 'a'")


def test_what_could_steer_a_terminal_is_written_out(tmp_path: Path) -> None:
    said = svc_pg("status", "--config", "\x1b[31m.toml", folder=tmp_path).stderr
    assert said.startswith("error: \\u001b[31m.toml: cannot be read")


def test_debug_shows_a_hint_once(tmp_path: Path) -> None:
    command = ["worker", "--only", "deliveries"]  # which needs keys, whatever the database has
    done = svc_pg("--debug", *command, folder=tmp_path)
    assert done.stderr.splitlines()[-1].startswith("hint: Set what the other workers")
    assert done.stderr.count("hint: ") == 1
    assert svc_pg(*command, folder=tmp_path).stderr.count("hint: ") == 1


@pytest.mark.parametrize(
    "arguments", [["plan", "--database-url", "\udcff"], ["send", "\udcff", "{}"], ["log", "--table", "\udcff"]]
)
def test_an_argument_that_is_not_utf_8_is_refused_without_a_traceback(tmp_path: Path, arguments: list[str]) -> None:
    done = svc_pg(*arguments, folder=tmp_path, variables={"DATABASE_URL": "postgresql://127.0.0.1:1/none"})
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr
