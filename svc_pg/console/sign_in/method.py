"""Validate the settings and choose the sign-in method."""

from svc_pg.addresses import SmtpServer
from svc_pg.console.database import Database
from svc_pg.console.sign_in.auto_approve import AutoApprove
from svc_pg.console.sign_in.magic_links import MagicLinks
from svc_pg.console.sign_in.mail import EmailSender, LogSender, SmtpSender
from svc_pg.errors import combined
from svc_pg.settings import Settings, console_problems, signing_key


def sign_in_of(settings: Settings, *, database: Database, email_sender: EmailSender | None) -> AutoApprove | MagicLinks:
    """The sign-in method that the settings choose. Raises one ConfigError with all problems; see ``combined``."""
    sender = email_sender or _email_sender_of(settings)
    if problems := list(console_problems(settings, is_mailing=not isinstance(sender, LogSender))):
        raise combined(problems)
    key = signing_key(settings.console_connection_token_hash, is_production=settings.env == "production")
    if settings.console_auto_approve:
        return AutoApprove(settings, key=key)
    return MagicLinks(settings, key=key, database=database, sender=sender)


def _email_sender_of(settings: Settings) -> EmailSender:
    """The sender that uses the server of the settings; without one, the log."""
    url = settings.console_smtp_url
    return LogSender() if url is None else SmtpSender(SmtpServer.parse(url.get_secret_value()))
