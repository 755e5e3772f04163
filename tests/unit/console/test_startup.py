from email.message import EmailMessage
from typing import Any, cast

import pytest
from pydantic import SecretStr

from svc_pg.console import Console, register_tenants
from svc_pg.console.sign_in.mail import LogSender
from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError, ConsoleWeakSecretError
from svc_pg.settings import Settings
from svc_pg.settings.signing_key import signing_key

HEX = "c0ffee" * 8


class Post:
    async def send(self, message: EmailMessage) -> None:
        raise NotImplementedError


def settings(**overrides: object) -> Settings:
    return Settings.load(
        **{
            "env": "production",
            "console_connection_token_hash": SecretStr(f"sha256:{HEX}"),
            "console_allowed_emails": {"ann@corp.example": "admin"},
            "console_mail_from": "console@corp.example",
            "console_smtp_url": "smtp://mail.corp.example",
            **overrides,
        }
    )


def authentication_of(console: Console) -> object:
    return console.openapi()["paths"]


def test_magic_links_start_in_production() -> None:
    assert "/console/session/verify" in str(authentication_of(Console(settings())))


def test_the_document_tells_which_routes_need_the_token_of_a_device() -> None:
    paths: Any = Console(settings()).openapi()["paths"]
    wanted: Any = [{"device": []}]
    found = {path for path, routes in paths.items() for route in routes.values() if route["security"] == wanted}
    assert found == {"/console/session/verify", "/console/session/poll", "/console/session/claim"}


def test_a_model_is_named_request_if_it_is_the_body_of_one() -> None:
    for console in both_ways():
        register_tenants(console)
        bodies = {
            content["schema"]["$ref"].rpartition("/")[2]
            for paths in cast(Any, console.openapi()["paths"]).values()
            for operation in paths.values()
            for content in operation.get("requestBody", {}).get("content", {}).values()
        }
        assert {name for name in schemas_of(console) if name.endswith("Request")} == bodies


def both_ways() -> list[Console]:
    return [Console(settings()), Console(settings(env="development", console_auto_approve=True))]


def schemas_of(console: Console) -> Any:
    components: Any = console.openapi()["components"]
    return components["schemas"]


def test_the_document_tells_that_a_disabled_endpoint_cannot_be_paused() -> None:
    paths: Any = Console(settings()).openapi()["paths"]
    responses = {verb: paths[f"/webhooks/endpoints/{{id}}/{verb}"]["post"]["responses"] for verb in ("pause", "resume")}
    assert "409" in responses["pause"]
    assert "409" not in responses["resume"]


def test_auto_approve_with_the_environment_unset_is_refused() -> None:
    unset = Settings.load(console_auto_approve=True, console_connection_token_hash=f"sha256:{HEX}")
    with pytest.raises(ConsoleAutoApproveInProductionError, match="production or unset"):
        Console(unset)


@pytest.mark.parametrize("auto_approve", [True, False])
@pytest.mark.parametrize("env", ["development", "test"])
def test_outside_production_a_short_secret_and_the_log_are_good_enough(env: str, auto_approve: bool) -> None:  # noqa: FBT001
    Console(
        settings(
            env=env,
            console_auto_approve=auto_approve,
            console_connection_token_hash="sha256:abc",
            console_smtp_url=None,
            console_mail_from=None,
        )
    )


def test_a_secret_of_31_characters_is_refused_in_production_and_32_are_enough() -> None:
    with pytest.raises(ConsoleWeakSecretError, match="has 31 characters"):
        Console(settings(console_connection_token_hash="sha256:" + "a" * 31))
    Console(settings(console_connection_token_hash="sha256:" + "a" * 32))


def test_production_counts_the_secret_without_its_prefix() -> None:
    with pytest.raises(ConsoleWeakSecretError, match="31"):
        signing_key(SecretStr("sha256:" + "a" * 31), is_production=True)
    assert signing_key(SecretStr("sha256:" + "a" * 32), is_production=True) == b"a" * 32
    assert signing_key(SecretStr("sha256:" + "a" * 31), is_production=False) == b"a" * 31


@pytest.mark.parametrize("digits", ["", "g" * 64, "é" * 64])
def test_a_secret_that_is_not_hexadecimal_is_refused_without_being_shown(digits: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        signing_key(SecretStr(f"sha256:{digits}"), is_production=False)
    assert not digits or digits not in refusal.value.message


def test_a_missing_secret_is_refused() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_CONNECTION_TOKEN_HASH is not set"):
        signing_key(None, is_production=False)


def test_the_two_ways_to_sign_in_exclude_each_other() -> None:
    paths = str(authentication_of(Console(settings(env="development", console_auto_approve=True))))
    assert "/console/session/init" in paths
    assert "/console/session/verify" not in paths


def test_in_production_codes_are_not_logged() -> None:
    for sender in (None, LogSender()):
        with pytest.raises(ConfigError, match="SVC_CONSOLE_SMTP_URL is not set"):
            Console(settings(console_smtp_url=None), email_sender=sender)
    Console(settings(console_smtp_url=None), email_sender=Post())


def test_mail_needs_a_sender() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_MAIL_FROM"):
        Console(settings(console_mail_from=None))


def test_a_sender_that_logs_is_refused_in_production_also_beside_a_mail_server() -> None:
    with pytest.raises(ConfigError, match="no codes are written to the log"):
        Console(settings(), email_sender=LogSender())


def test_all_problems_are_told_at_once_by_their_variables_and_without_the_secret() -> None:
    wrong = settings(console_auto_approve=True, console_connection_token_hash="sha256:abc")
    with pytest.raises(ConsoleAutoApproveInProductionError) as special:
        Console(wrong)
    for variable in ("AUTO_APPROVE", "CONNECTION_TOKEN_HASH"):
        assert f"SVC_CONSOLE_{variable}" in special.value.message
    assert "abc" not in special.value.message


def test_whoever_sets_nothing_is_told_all_that_a_console_needs() -> None:
    with pytest.raises(ConfigError) as refusal:
        Console(Settings.load())
    lines = refusal.value.message.splitlines()
    needed = ["CONNECTION_TOKEN_HASH", "ALLOWED_EMAILS", "SMTP_URL", "MAIL_FROM"]
    assert len(lines) == len(needed)
    for name, line in zip(needed, lines, strict=True):
        assert f"SVC_CONSOLE_{name} is not set" in line
