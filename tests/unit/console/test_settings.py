from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError, ConsoleWeakSecretError
from svc_pg.settings import Settings
from svc_pg.webhooks.secrets import new_key

SECRET = "hunter2-hunter2"
KEY = new_key("k1")


def test_nothing_set_means_production_and_no_auto_approve() -> None:
    settings = Settings.load()
    assert settings.env == "production"
    assert settings.console_auto_approve is False
    assert settings.console_allowed_origins is None
    assert settings.console_allowed_actions == ("read", "write", "admin")
    assert settings.console_token_lifetime == timedelta(hours=24)
    assert settings.database_url is settings.encryption_keys is settings.console_connection_token_hash is None
    assert settings.console_allowed_emails == {}
    assert settings.console_max_attempts == 5
    assert settings.console_trusted_proxies == ()
    assert settings.console_smtp_url is None
    assert settings.console_mail_from is settings.console_public_url is None


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql:///shop")
    monkeypatch.setenv("SVC_ENV", "test")
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "true")
    monkeypatch.setenv("SVC_CONSOLE_CONNECTION_TOKEN_HASH", "sha256:ab")
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_ORIGINS", '["https://a.example", "https://b.example"]')
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_ACTIONS", '["read"]')
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_EMAILS", '{"Ann@Corp.example": "admin", "*@corp.example": "read"}')
    monkeypatch.setenv("SVC_CONSOLE_TOKEN_LIFETIME", "3600")
    monkeypatch.setenv("SVC_CONSOLE_MAX_ATTEMPTS", "3")
    monkeypatch.setenv("SVC_CONSOLE_SMTP_URL", f"smtp://u:{SECRET}@mail.example")
    monkeypatch.setenv("SVC_CONSOLE_MAIL_FROM", "console@corp.example")
    monkeypatch.setenv("SVC_CONSOLE_PUBLIC_URL", "https://console.example")
    monkeypatch.setenv("SVC_CONSOLE_TRUSTED_PROXIES", '["10.0.0.0/8", "::1"]')
    settings = Settings.load()
    assert settings.console_allowed_emails == {"ann@corp.example": "admin", "*@corp.example": "read"}
    assert settings.console_token_lifetime == timedelta(hours=1)
    assert settings.console_max_attempts == 3
    assert settings.console_smtp_url == SecretStr(f"smtp://u:{SECRET}@mail.example")
    assert settings.console_mail_from == "console@corp.example"
    assert settings.console_public_url == "https://console.example"
    assert settings.console_trusted_proxies == (ip_network("10.0.0.0/8"), ip_network("::1"))
    assert settings.database_url == SecretStr("postgresql:///shop")
    assert settings.env == "test"
    assert settings.console_auto_approve is True
    assert settings.console_allowed_origins == ("https://a.example", "https://b.example")
    assert settings.console_allowed_actions == ("read",)


def test_an_argument_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql:///environment")
    monkeypatch.setenv("SVC_ENV", "test")
    settings = Settings.load(database_url="postgresql:///argument", env="development")
    assert settings.database_url == SecretStr("postgresql:///argument")
    assert settings.env == "development"


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_ENV", "")
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "")
    assert Settings.load() == Settings()


@pytest.mark.parametrize("letters", [str.upper, str.lower])
def test_a_file_holds_a_variable_and_the_environment_wins_over_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, letters: Callable[[str], str]
) -> None:
    (tmp_path / letters("DATABASE_URL")).write_text("postgresql:///file\n")
    (tmp_path / letters("SVC_ENCRYPTION_KEYS")).write_text(f"{KEY}\n")
    (tmp_path / letters("SVC_CONSOLE_ALLOWED_EMAILS")).write_text('{"ann@corp.example": "read"}')
    (tmp_path / letters("SVC_ENV")).write_text("test")
    (tmp_path / "postgres_password").write_text("of somebody else")
    monkeypatch.setenv("SVC_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("SVC_ENV", "development")
    settings = Settings.load()
    assert settings.database_url == SecretStr("postgresql:///file")
    assert settings.encryption_keys == SecretStr(KEY)
    assert settings.console_allowed_emails == {"ann@corp.example": "read"}
    assert settings.env == "development"
    assert Settings.load(env="production").env == "production"


def test_what_a_file_holds_is_checked_and_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "svc_encryption_keys").write_text(SECRET)
    monkeypatch.setenv("SVC_SECRETS_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"^SVC_ENCRYPTION_KEYS: ") as caught:
        Settings.load()
    assert SECRET not in str(caught.value)


def test_a_folder_of_secrets_that_is_missing_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SVC_SECRETS_DIR", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=r"SVC_SECRETS_DIR: '.*none' is not a folder"):
        Settings.load()


def test_a_file_of_a_secret_that_cannot_be_read_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "svc_encryption_keys").write_bytes(b"k1:\xff")
    monkeypatch.setenv("SVC_SECRETS_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r'SVC_SECRETS_DIR: .*"encryption_keys".*: .*decode'):
        Settings.load()


@pytest.mark.parametrize("lifetime", ["24h", "86400", 86400, "P1D", timedelta(days=1)])
def test_a_lifetime_is_a_duration_or_seconds(lifetime: object) -> None:
    assert Settings.load(console_token_lifetime=lifetime).console_token_lifetime == timedelta(days=1)


@pytest.mark.parametrize("lifetime", ["0", 0, -1, "", "soon", True, "9" * 30, None])
def test_any_other_lifetime_is_refused(lifetime: object) -> None:
    with pytest.raises(ConfigError, match=r"SVC_CONSOLE_TOKEN_LIFETIME: .* is not a duration"):
        Settings.load(console_token_lifetime=lifetime)


def test_all_problems_are_told_at_once_by_variable_and_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_ENV", "prod")
    monkeypatch.setenv("SVC_ENCRYPTION_KEYS", SECRET)
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "maybe")
    monkeypatch.setenv("SVC_CONSOLE_CONNECTION_TOKEN_HASH", SECRET)
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_ORIGINS", '["https://a.example", "*"]')
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_ACTIONS", '["read", "root"]')
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_EMAILS", '{"*@corp.example": "root", "ann": "read"}')
    monkeypatch.setenv("SVC_CONSOLE_TOKEN_LIFETIME", "9000d")
    monkeypatch.setenv("SVC_CONSOLE_MAX_ATTEMPTS", "0")
    monkeypatch.setenv("SVC_CONSOLE_SMTP_URL", f"smtp://u:{SECRET}@mail.example:port")
    monkeypatch.setenv("SVC_CONSOLE_MAIL_FROM", "Shop <console@corp.example>")
    monkeypatch.setenv("SVC_CONSOLE_PUBLIC_URL", "console.example")
    monkeypatch.setenv("SVC_CONSOLE_TRUSTED_PROXIES", '["10.0.0.1/8"]')
    with pytest.raises(ConfigError) as refusal:
        Settings.load()
    assert [line.partition(":")[0] for line in refusal.value.message.splitlines()] == [
        "SVC_ENCRYPTION_KEYS",
        "SVC_ENV",
        "SVC_CONSOLE_CONNECTION_TOKEN_HASH",
        "SVC_CONSOLE_AUTO_APPROVE",
        "SVC_CONSOLE_ALLOWED_ORIGINS[1]",
        "SVC_CONSOLE_ALLOWED_ACTIONS[1]",
        "SVC_CONSOLE_ALLOWED_EMAILS[*@corp.example]",
        "SVC_CONSOLE_ALLOWED_EMAILS[ann]",
        "SVC_CONSOLE_TOKEN_LIFETIME",
        "SVC_CONSOLE_MAX_ATTEMPTS",
        "SVC_CONSOLE_SMTP_URL",
        "SVC_CONSOLE_MAIL_FROM",
        "SVC_CONSOLE_PUBLIC_URL",
        "SVC_CONSOLE_TRUSTED_PROXIES[0]",
    ]
    assert SECRET not in f"{refusal.value} {refusal.value.__cause__}"


def test_what_does_not_fit_together_is_told_beside_what_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"oracle://{SECRET}@db/shop")
    monkeypatch.setenv("SVC_ENCRYPTION_KEYS", f"k1:{SECRET}")
    monkeypatch.setenv("SVC_CONSOLE_CONNECTION_TOKEN_HASH", "sha256:abc")
    monkeypatch.setenv("SVC_CONSOLE_TOKEN_LIFETIME", "soon")
    monkeypatch.setenv("SVC_CONSOLE_SMTP_URL", "smtp://mail.corp.example")
    with pytest.raises(ConsoleWeakSecretError) as refusal:
        Settings.load()
    named = ["CONNECTION_TOKEN_HASH", "TOKEN_LIFETIME", "ALLOWED_EMAILS", "MAIL_FROM"]
    for variable in ["DATABASE_URL", "SVC_ENCRYPTION_KEYS", *(f"SVC_CONSOLE_{name}" for name in named)]:
        assert variable in refusal.value.message
    assert len(refusal.value.message.splitlines()) == 6
    assert SECRET not in f"{refusal.value} {refusal.value.__cause__}"
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "true")
    with pytest.raises(ConsoleAutoApproveInProductionError) as worse:
        Settings.load()
    assert len(worse.value.message.splitlines()) == 5


def test_nothing_is_said_of_what_depends_on_a_variable_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SVC_ENV", "prod")
    monkeypatch.setenv("SVC_CONSOLE_AUTO_APPROVE", "true")
    monkeypatch.setenv("SVC_CONSOLE_CONNECTION_TOKEN_HASH", "sha256:abc")
    with pytest.raises(ConfigError) as refusal:
        Settings.load()
    assert refusal.value.message == "SVC_ENV: write 'production', 'development' or 'test'"


def test_who_has_no_console_is_told_nothing_of_one() -> None:
    with pytest.raises(ConfigError) as refusal:
        Settings.load(encryption_keys="k1")
    assert "CONSOLE" not in refusal.value.message


def test_an_unknown_setting_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigError, match=r"consle_auto_approve: unknown setting; known are .*console_auto_approve"):
        Settings.load(consle_auto_approve=True)


def test_no_actions_are_refused() -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_ALLOWED_ACTIONS"):
        Settings.load(console_allowed_actions=[])


@pytest.mark.parametrize(
    "emails",
    ['{"ann@corp.example": "read", "Ann@corp.example": "admin"}', '{"a@b": "read", "a@b": "admin"}', "[]", "ann@corp"],
)
def test_an_address_has_one_permission(monkeypatch: pytest.MonkeyPatch, emails: str) -> None:
    monkeypatch.setenv("SVC_CONSOLE_ALLOWED_EMAILS", emails)
    with pytest.raises(ConfigError, match="SVC_CONSOLE_ALLOWED_EMAILS: "):
        Settings.load()


@pytest.mark.parametrize("lifetime", ["366d", "PT0.5S"])
def test_a_lifetime_is_between_a_second_and_a_year(lifetime: str) -> None:
    with pytest.raises(ConfigError, match="SVC_CONSOLE_TOKEN_LIFETIME: a session lasts"):
        Settings.load(console_token_lifetime=lifetime)


def test_settings_are_frozen_and_their_text_shows_no_secret() -> None:
    settings = Settings.load(
        database_url=f"postgresql://u:{SECRET}@h/d", encryption_keys=KEY, console_connection_token_hash="sha256:abcd"
    )
    assert SECRET not in repr(settings)
    assert KEY.partition(":")[2] not in repr(settings)
    assert "abcd" not in repr(settings)
    with pytest.raises(ValidationError):
        settings.env = "test"  # type: ignore[misc] # the error under test
