"""The steps and the findings of the demo, and the checks that all was recorded and delivered."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from .. import output

# The entries that must be on record, newest first, without the order that was refused
_RECORD: Final = [
    ("bob", "INSERT", "public.orders"),
    ("support", "UPDATE", "public.customer"),
    ("bob", "INSERT", "public.customer"),
    ("alice", "INSERT", "public.orders"),
    ("alice", "INSERT", "public.customer"),
    ("operator", "INSERT", "svc.webhook_endpoints"),
]
_ORDERS: Final = {7, 8}
_SECRETS: Final = ("password_hash",)


@dataclass(frozen=True, slots=True)
class Proof:
    """The seals, the entries as they sealed them, the tables and rows that were compared, and if nothing differed."""

    seals: int
    entries: int
    tables: int
    rows: int
    is_whole: bool


@dataclass
class Steps:
    """The steps of a demo, with the time that each took."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the step, and measure its time."""
        output.words(f"- {name}")
        started = time.perf_counter()
        yield
        self.steps.append({"name": name, "seconds": round(time.perf_counter() - started, 3)})


@dataclass
class Findings(Steps):
    """``entries``, ``deliveries`` and ``alarms`` are as the console's API shows them.

    ``entries`` are those of the demo's day, from ``since`` on; ``alarms`` the critical ones of the hour before, which
    ``proof`` is about.
    """

    proof: Proof | None = None
    since: str = ""
    entries: list[dict[str, Any]] = field(default_factory=list)
    alarms: list[dict[str, Any]] = field(default_factory=list)
    deliveries: list[dict[str, Any]] = field(default_factory=list)
    received: Sequence[dict[str, Any]] = ()
    webhook: tuple[Mapping[str, str], str] = ({}, "")
    console_url: str = ""
    console_token: str = ""

    @property
    def sign_in_url(self) -> str:
        """A page that signs in without a question on this machine, and leads to the past hour."""
        overview = f"{urlsplit(self.console_url).path}/ui/overview?window=1h"
        return f"{self.console_url}/ui/sign-in?{urlencode({'now': 1, 'next': overview})}"

    @property
    def is_good(self) -> bool:
        """True if every change is on record, with its actor and without its secrets, and every webhook has arrived."""
        record = [(entry["actorId"], entry["operation"], entry["tableName"]) for entry in self.entries]
        return record == _RECORD and self.is_delivered and self.is_redacted and self.is_alarmed and self.is_proven

    @property
    def is_delivered(self) -> bool:
        """True if the partner has verified a webhook of each order, and of no other."""
        return (
            len(self.deliveries) == len(_ORDERS)
            and all(delivery["status"] == "delivered" for delivery in self.deliveries)
            and {event["data"]["id"] for event in self.received} == _ORDERS
        )

    @property
    def is_redacted(self) -> bool:
        """True if entries list the secret as redacted, and do not contain it."""
        customers = [entry for entry in self.entries if entry["tableName"] == "public.customer"]
        return bool(customers) and all(
            entry["redactedFields"] == list(_SECRETS)
            and not any(secret in (entry[side] or {}) for secret in _SECRETS for side in ("beforeData", "afterData"))
            for entry in customers
        )

    @property
    def is_alarmed(self) -> bool:
        """True if the change past the application is on record: without an actor, but with the database's user."""
        return [(entry["actorId"], entry["dbUser"], entry["tableName"]) for entry in self.alarms] == [
            (None, "dba_temp", "public.product")
        ]

    @property
    def is_proven(self) -> bool:
        """True if the past hour is as it was sealed, and the rows of its tables are as the log knows them."""
        return self.proof is not None and self.proof.is_whole

    def as_json(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        headers, body = self.webhook
        return {
            "auditEntries": self.entries,
            "alarms": self.alarms,
            "proof": self.proof,
            "deliveries": self.deliveries,
            "webhook": {"headers": headers, "body": body},
            "since": self.since,
            "consoleUrl": self.console_url,
            "consoleToken": self.console_token,
            "signInUrl": self.sign_in_url,
            "steps": self.steps,
        }
