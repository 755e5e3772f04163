"""Errors that svc-pg raises, each with a message and, if there is something to do, a hint.

SvcError
├── ConfigError                  the configuration or the environment is wrong
│   ├── ConsoleWeakSecretError
│   └── ConsoleAutoApproveInProductionError
├── RenderError                  a value cannot be put into SQL safely
├── TransactionError             the connection is in the wrong transaction state
├── NotInstalledError            the database has no (or an older) schema svc
├── ProtocolError                a worker and the functions of its database are too far apart
├── UnknownTableError            a table to audit does not exist or cannot be audited
├── InstallError                 install stopped, and says what is finished
│   ├── DatabaseNewerError       the database was installed by a newer svc-pg
│   ├── MigrationChangedError    a released migration was edited
│   └── RemovalRefusedError      install would take capture or an event away
├── AppendOnlyError              somebody tried to change the audit log
├── QueryError                   a filter, a cursor or a text is not acceptable
│   └── UnsupportedQueryError    the database of the log cannot answer this
├── AccessError                  the database's role may not use schema svc, or something in it
├── ReadNotRecordedError         the read of a record cannot be recorded, and so is refused
├── UnknownEventError            the event is not defined
├── PayloadError                 a webhook payload is too large or not JSON
├── EndpointError                a field of an endpoint is not acceptable
├── NotFoundError                nothing has this id
├── ConflictError                the state of a thing forbids this
│   └── RevertRefusedError       a change cannot be taken back safely
├── EncryptionKeyError           no key, or no key that opens the secret
├── ClientError                  a call of the HTTP API has failed: svc_pg.client.errors has it, and those below it
├── ProofError                   a proof, or a copy of a seal, is damaged or not authentic
└── WebhookSignatureError        a received webhook is not authentic
"""

from collections.abc import Sequence
from dataclasses import dataclass


class SvcError(Exception):
    """The base of every error that svc-pg raises on purpose. ``hint`` says what to do next, or is None.

    A traceback shows the hint below the message.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class ConfigError(SvcError):
    """The configuration or the environment is wrong; the message names the source and every problem."""


class ConsoleWeakSecretError(ConfigError):
    """The console's connection token hash is too short to sign with in production."""


class ConsoleAutoApproveInProductionError(ConfigError):
    """Auto-approve hands out sessions without a proof of identity, so production refuses it."""


def combined(problems: Sequence[ConfigError]) -> ConfigError:
    """One error with all messages. The first problem of a class below ConfigError gives its class, and comes first."""
    first, *others = sorted(problems, key=lambda problem: type(problem) is ConfigError)
    if not others:
        return first
    told = [f"{problem.message}. {problem.hint}" if problem.hint else problem.message for problem in (first, *others)]
    return type(first)("\n".join(told))


class RenderError(SvcError):
    """A value cannot be put into SQL safely."""


class TransactionError(SvcError):
    """The connection is in the wrong transaction state for this call."""


class NotInstalledError(SvcError):
    """The database has no schema ``svc``, one without webhooks if they are asked for, or one older than this
    program.
    """


class ProtocolError(SvcError):
    """A worker and the functions of its database are more than one release apart; the hint says which is too old."""


class UnknownTableError(SvcError):
    """A table to audit does not exist or cannot be audited."""


class InstallError(SvcError):
    """Install stopped; the message says what is finished and what is not."""


class DatabaseNewerError(InstallError):
    """The database was installed by a newer svc-pg than this one."""


class MigrationChangedError(InstallError):
    """A migration differs from the one that the database ran."""


class RemovalRefusedError(InstallError):
    """Install would take capture or an event away, and nobody asked for that."""


class AppendOnlyError(SvcError):
    """Somebody tried to change or delete entries of the audit log."""


class QueryError(SvcError):
    """A filter, a cursor or a text of a call is not acceptable."""


class UnsupportedQueryError(QueryError):
    """The database of the audit log cannot answer this, and another one could."""


class AccessError(SvcError):
    """The database's role may not use schema svc, or something in it."""


class ReadNotRecordedError(SvcError):
    """The read of a record cannot be recorded, and the configuration refuses it then."""


class UnknownEventError(SvcError):
    """The event is not defined in this database."""


class PayloadError(SvcError):
    """A webhook payload is too large or not JSON."""


class EndpointError(SvcError):
    """A field of an endpoint, for example its URL, is not acceptable. ``field`` names it, if the error is of one.

    ``others`` are the errors of other fields, if more than one is not acceptable.
    """

    def __init__(self, message: str, *, hint: str | None = None, field: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.field = field
        self.others: list[EndpointError] = []


class NotFoundError(SvcError):
    """Nothing has this id."""


class ConflictError(SvcError):
    """The state of a thing forbids what was asked for."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason why a change cannot be taken back, the record and the field, and the later entry that is in the way."""

    reason: str
    table: str
    record: str | None = None
    field: str | None = None
    entry: str | None = None


class RevertRefusedError(ConflictError):
    """A change cannot be taken back safely; ``refusals`` are all reasons, of which the message names the first 20."""

    def __init__(self, message: str, *, refusals: Sequence[Refusal] = ()) -> None:
        super().__init__(message)
        self.refusals = refusals


class EncryptionKeyError(SvcError):
    """There is no encryption key, or none that opens a stored secret."""


class ProofError(SvcError):
    """A proof of an entry, or a copy of a seal, is damaged, not authentic or of another log."""


class WebhookSignatureError(SvcError):
    """A received webhook is not authentic; the message says why."""


def not_installed() -> NotInstalledError:
    """The error that every command and call raises in a database without svc-pg."""
    return NotInstalledError("the database has no svc-pg, or an older one", hint="Run: svc-pg install")


def older_schema() -> NotInstalledError:
    """The error if the database has schema ``svc`` and lacks a function of it that this program calls."""
    return NotInstalledError(
        "the database has an older schema of svc-pg than this program", hint="Bring it up to date: svc-pg install"
    )


def audit_not_installed() -> NotInstalledError:
    """The error that commands and calls of the audit trail raise in a database that has only webhooks."""
    return NotInstalledError(
        "the database has no audit trail of svc-pg, or an older one",
        hint="Run: svc-pg install. Where only webhooks are installed, add --all.",
    )


def webhooks_not_installed() -> NotInstalledError:
    """The error that commands and calls of webhooks raise in a database without these."""
    return NotInstalledError(
        "the database has no webhooks of svc-pg, or older ones",
        hint="Run: svc-pg install. Where only the audit trail is installed, add --all.",
    )


def another_version() -> NotInstalledError:
    """The error if a statement of ours names columns or functions that another version lacks."""
    return NotInstalledError(
        "the database has another version of svc-pg",
        hint="Run the newer version's svc-pg install, and deploy that version.",
    )
