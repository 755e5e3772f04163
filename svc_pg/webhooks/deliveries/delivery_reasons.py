"""The reasons for which a delivery waits, or how it has ended, in sentences."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Final, Literal, assert_never

from svc_pg.database.query import Query
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc
from svc_pg.formats.human_times import second
from svc_pg.formats.plurals import counted
from svc_pg.status.worker_seen import WORKER_SEEN
from svc_pg.webhooks.field_docs import DELIVERY_ID
from svc_pg.webhooks.ids import delivery_key

Reason = Literal[
    "delivered",
    "failed",
    "canceled",
    "blocking",
    "sending",
    "lost",
    "due",
    "deleted",
    "disabled",
    "later",
    "paused",
    "broken",
    "throttled",
    "key",
    "probed",
    "full",
    "rate",
    "clock",
    "queue",
    "standby",
    "subscription",
    "no_worker",
]

MOST_COUNTED: Final = 1000  # in the function too

_WHY: Final = statement("queries/webhooks/why.sql").replace("{worker_seen}", WORKER_SEEN)
_OLDER: Final = {"pending": "comes first", "under way": "is under way", "failed": "failed and blocks the key"}


@dataclass(frozen=True, slots=True)
class DeliveryReason:
    """A reason for which a delivery waits, or how it has ended."""

    reason: Annotated[Reason, Doc("The reason, for programs.")]
    sentence: Annotated[str, Doc("The reason, for people.", "Its endpoint is paused, until somebody resumes it.")]
    since: Annotated[datetime | None, Doc("Its beginning; null if that is not known.")]
    until: Annotated[datetime | None, Doc("Its end; null if that is not known.")]
    other_delivery_id: Annotated[
        str | None, Doc("The delivery that comes first; null if none has to.", DELIVERY_ID.example)
    ]


def why(delivery_id: str, *, names_workers: bool = True) -> Query[DeliveryReason]:
    """The reasons for which a delivery waits now, or how it has ended. Running it raises NotFoundError.

    Without ``names_workers`` no sentence names the operator's machines.
    """
    return Query(_WHY, (delivery_key(delivery_id),), partial(_reason, names_workers=names_workers))


def _reason(
    *,
    reason: Reason,
    since: datetime | None,
    until: datetime | None,
    other_delivery_id: str | None,
    number: int | None,
    detail: str | None,
    names_workers: bool,
) -> DeliveryReason:
    if reason in ("sending", "lost"):
        detail = f"Worker {detail}" if names_workers else "A worker"
    sentence = _sentence(
        reason,
        since="" if since is None else second(since),
        until="" if until is None else second(until),
        other=other_delivery_id or "",
        number=number or 0,
        detail=detail or "",
    )
    return DeliveryReason(reason, sentence, since, until, other_delivery_id)


def _sentence(reason: Reason, *, since: str, until: str, other: str, number: int, detail: str) -> str:
    match reason:
        case "delivered":
            return f"It was delivered {since}, at attempt {number}."
        case "failed":
            return f"It failed {since}, after {counted(number, 'attempt')}{_because(detail)}."
        case "canceled":
            return f"It was canceled {since}{_because(detail)}."
        case "blocking":
            return f'It blocks its key "{detail}", and with it {_counted(number, "later delivery")}.'
        case "sending":
            return f"{detail} has been sending it since {since}, as attempt {number}; its lease ends {until}."
        case "lost":
            return f"{detail} began attempt {number} {since} and gave no result: its lease ended {until}."
        case "due":
            return f"It has been due since {since}: the next claim of a worker takes it if its turn comes."
        case "deleted":
            return f"Its endpoint was deleted: {_canceling(until)}."
        case "disabled":
            return f"Its endpoint is disabled{f' ({detail})' if detail else ''}: {_canceling(until)}."
        case "later" if number:
            return f"Its next attempt, after {counted(number, 'attempt')}, is due {until}{_because(detail)}."
        case "later":
            return f"It is due {until}, not before."
        case "paused":
            return "Its endpoint is paused, until somebody resumes it."
        case "broken":
            return f"The circuit breaker of its endpoint is open until {until}, after {_failures(number, detail)}."
        case "throttled":
            return f"The receiver asked to send nothing until {until}."
        case "key":
            return f"An older message of its key {_OLDER[detail]}: delivery {other}."
        case "probed":
            return f"After {_failures(number, detail)} its endpoint gets one attempt at a time, and one is under way."
        case "full":
            return f"Its endpoint has as many attempts under way as it may: {number}."
        case "rate":
            return f"The rate of its endpoint, {number} a second, is reached: more may start {until}."
        case "clock":
            return f"The clock of the database's server was set back, to before {since}; a worker follows it."
        case "queue":
            return f"Before it come {_counted(number, 'delivery')} to its endpoint, due for longer."
        case "standby":
            return "This server is a standby: the workers of its primary deliver."
        case "subscription":
            return "This is a copy that a subscription keeps: the workers of the publisher deliver."
        case "no_worker":
            return "No worker is seen: it waits until one runs."
        case _:
            assert_never(reason)


def _canceling(until: str) -> str:
    return f"a worker cancels it when it is due, {until}" if until else "the next claim of a worker cancels it"


def _because(detail: str) -> str:
    return f": {detail}" if detail else ""


def _failures(number: int, detail: str) -> str:
    return counted(number, "failure") + " in a row" + (f" ({detail})" if detail else "")


def _counted(number: int, noun: str) -> str:
    return ("at least " if number == MOST_COUNTED else "") + counted(number, noun)
