"""What must be right before a console starts: one way to sign in, and secrets that are good enough."""

from collections.abc import Iterator

from svc_pg.addresses import SmtpServer
from svc_pg.console import tokens
from svc_pg.console.cors import exact_origins
from svc_pg.console.database import Database
from svc_pg.console.sign_in.auto_approve import AutoApprove
from svc_pg.console.sign_in.magic_links import MagicLinks
from svc_pg.console.sign_in.mail import EmailSender, LogSender, SmtpSender
from svc_pg.errors import ConfigError, ConsoleAutoApproveInProductionError
from svc_pg.settings import Settings


def check(settings: Settings, *, email_sender: EmailSender | None) -> None:
    """Raises one ConfigError with all problems, of the class of the first that has one of its own."""
    problems = sorted(_problems(settings, email_sender), key=lambda problem: type(problem) is ConfigError)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        told = [f"{problem.message}. {problem.hint or ''}".rstrip() for problem in problems]
        raise type(problems[0])("\n".join(told))


def sign_in_of(
    settings: Settings, *, key: bytes, database: Database, email_sender: EmailSender | None
) -> AutoApprove | MagicLinks:
    """The one way to sign in that the settings choose."""
    if settings.console_auto_approve:
        return AutoApprove(settings, key=key)
    return MagicLinks(settings, key=key, database=database, sender=email_sender or email_sender_of(settings))


def email_sender_of(settings: Settings) -> EmailSender:
    """The server that the settings name; without one, the log."""
    url = settings.console_smtp_url
    return LogSender() if url is None else SmtpSender(SmtpServer.parse(url.get_secret_value()))


def _problems(settings: Settings, email_sender: EmailSender | None) -> Iterator[ConfigError]:
    if settings.console_auto_approve and settings.env == "production":
        yield ConsoleAutoApproveInProductionError(
            "SVC_CONSOLE_AUTO_APPROVE is on, and SVC_ENV is production or unset",
            hint="Auto-approve signs anybody in. Set SVC_ENV=development on your own machine, else switch it off.",
        )
    try:
        tokens.signing_key(settings.console_connection_token_hash, env=settings.env)
    except ConfigError as error:
        yield error
    try:
        exact_origins(settings.console_allowed_origins)
    except ConfigError as error:
        yield error
    if settings.console_auto_approve:
        return
    if not settings.console_allowed_emails:
        yield ConfigError(
            "nobody could sign in to the console: SVC_CONSOLE_ALLOWED_EMAILS is not set, and auto-approve is off",
            hint='Write such as {"ann@corp.example": "admin"}; or set SVC_CONSOLE_AUTO_APPROVE=true and'
            " SVC_ENV=development on your own machine.",
        )
    else:
        yield from _mail_problems(settings, email_sender or email_sender_of(settings))


def _mail_problems(settings: Settings, sender: EmailSender) -> Iterator[ConfigError]:
    if not isinstance(sender, LogSender):
        if settings.console_mail_from is None:
            yield ConfigError("SVC_CONSOLE_MAIL_FROM is not set, and the mail needs a sender")
    elif settings.env == "production":
        yield ConfigError(
            "SVC_CONSOLE_SMTP_URL is not set, and in production no codes are written to the log",
            hint="Write such as smtp://user:password@mail.corp.example:587, or give the console an email_sender.",
        )
