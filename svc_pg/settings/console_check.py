"""Check the settings that a console needs to start."""

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from svc_pg.database import addresses
from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError
from svc_pg.settings.signing_key import PREVIOUS_HASH_VARIABLE, signing_key

if TYPE_CHECKING:
    from svc_pg.settings import Settings

_IsReadable = Callable[[str], bool]


def console_problems(
    settings: "Settings",
    *,
    is_mailing: bool | None = None,
    has_host: bool = False,
    unreadable: Collection[str] = (),
) -> Iterator[ConfigError]:
    """The problems that keep a console from starting, except those that depend on a field in ``unreadable``.

    ``is_mailing`` tells whether codes are mailed. Default: they are if there is a mail server. If the application
    ``has_host`` sessions of its own users, no sign-in method is needed.
    """

    def is_readable(name: str) -> bool:
        return name not in unreadable

    is_production = is_readable("env") and settings.env == "production"
    yield from _address_problems(settings)
    if is_readable("console_auto_approve") and settings.console_auto_approve and is_production:
        yield ConsoleAutoApproveInProductionError(
            "SVC_CONSOLE_AUTO_APPROVE is on, and SVC_ENV is production or unset",
            hint="Auto-approve signs anybody in. Set SVC_ENV=development on your own machine, else switch it off.",
        )
    yield from _key_problems(settings, is_readable, is_production=is_production)
    if is_readable("console_auto_approve") and not settings.console_auto_approve:
        has_proxy = settings.console_proxy_user_header is not None and is_readable("console_proxy_user_header")
        yield from _user_problems(settings, is_readable, has_host=has_host, has_proxy=has_proxy)
        if is_mailing is None:
            is_mailing = settings.console_smtp_url is not None or not is_readable("console_smtp_url")
        if is_mailing or (is_production and not (has_host or has_proxy)):
            yield from _mail_problems(settings, is_readable, is_mailing=is_mailing)


def _address_problems(settings: "Settings") -> Iterator[ConfigError]:
    if settings.database_url is not None:
        try:
            database = addresses.parse(settings.database_url.get_secret_value(), name="DATABASE_URL")
        except ConfigError as error:
            yield error
        else:
            if not isinstance(database, Conninfo):
                yield ConfigError(
                    "DATABASE_URL is no database of PostgreSQL, and the console keeps its sessions in one",
                    hint="To show the audit log of another database, write SVC_AUDIT_LOG_URL.",
                )


def _key_problems(settings: "Settings", is_readable: _IsReadable, *, is_production: bool) -> Iterator[ConfigError]:
    if is_readable("console_connection_token_hash"):
        try:
            signing_key(settings.console_connection_token_hash, is_production=is_production)
        except ConfigError as error:
            yield error
    previous = settings.console_previous_connection_token_hash
    if previous is not None and is_readable("console_previous_connection_token_hash"):
        try:
            signing_key(previous, is_production=is_production, variable=PREVIOUS_HASH_VARIABLE)
        except ConfigError as error:
            yield error


def _user_problems(
    settings: "Settings", is_readable: _IsReadable, *, has_host: bool, has_proxy: bool
) -> Iterator[ConfigError]:
    if has_proxy and is_readable("console_trusted_proxies") and not settings.console_trusted_proxies:
        yield ConfigError(
            "SVC_CONSOLE_PROXY_USER_HEADER is set, and SVC_CONSOLE_TRUSTED_PROXIES names no proxy that may send it",
            hint='Write the addresses of the proxy, for example ["10.0.0.7"].',
        )
    if is_readable("console_allowed_emails") and not settings.console_allowed_emails and not has_host:
        yield ConfigError(
            "nobody could sign in to the console: SVC_CONSOLE_ALLOWED_EMAILS is not set, and auto-approve is off",
            hint='Write, for example, {"ann@corp.example": "admin"}; or set SVC_CONSOLE_AUTO_APPROVE=true and'
            " SVC_ENV=development on your own machine.",
        )


def _mail_problems(settings: "Settings", is_readable: _IsReadable, *, is_mailing: bool) -> Iterator[ConfigError]:
    if not is_mailing:
        yield ConfigError(
            "SVC_CONSOLE_SMTP_URL is not set, and in production no codes are written to the log",
            hint="Write, for example, smtp://user:password@mail.corp.example:587, or give the console an email_sender.",
        )
    if is_readable("console_mail_from") and settings.console_mail_from is None:
        yield ConfigError("SVC_CONSOLE_MAIL_FROM is not set, and the mail needs a sender")
