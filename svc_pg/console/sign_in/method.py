"""Validate the settings and choose the sign-in method."""

from svc_pg.console.database.pool import Database
from svc_pg.console.sign_in.auto_approve import AutoApprove
from svc_pg.console.sign_in.magic_links import MagicLinks
from svc_pg.console.sign_in.mail import EmailSender, LogSender, SmtpSender
from svc_pg.errors import combined
from svc_pg.settings import Settings, signing_keys
from svc_pg.settings.addresses import SmtpServer
from svc_pg.settings.console_check import console_problems


def sign_in_of(
    settings: Settings, *, database: Database, email_sender: EmailSender | None, has_host: bool = False
) -> AutoApprove | MagicLinks:
    """The sign-in method that the settings choose. Raises one ConfigError with all problems; see ``combined``.

    If the application itself knows its users, nobody need be allowed to sign in here; nor if the database is only read,
    because to sign in by mail is to write.
    """
    sender = None if database.is_read_only else email_sender or _email_sender_of(settings)
    is_mailing = not (sender is None or isinstance(sender, LogSender))
    is_left = has_host or database.is_read_only
    if problems := list(console_problems(settings, is_mailing=is_mailing, has_host=is_left)):
        raise combined(problems)
    keys = signing_keys(settings)
    if settings.console_auto_approve:
        return AutoApprove(settings, keys=keys)
    is_closed = settings.env == "production" and not is_mailing
    return MagicLinks(settings, keys=keys, database=database, sender=None if is_closed else sender)


def _email_sender_of(settings: Settings) -> EmailSender:
    """The sender that uses the server of the settings; without one, the log."""
    url = settings.console_smtp_url
    return LogSender() if url is None else SmtpSender(SmtpServer.parse(url.get_secret_value()))
