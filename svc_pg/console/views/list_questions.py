"""The keys of a question to each list of the console that can be asked one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, Literal, TypedDict, get_args

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.console.views.named_views import ViewedList
from svc_pg.database.filters import Selects
from svc_pg.questions.reading import QuestionError, read
from svc_pg.questions.words import Vocabulary, vocabulary
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.messages.message_queries import MessageFilter

Shape = Literal["rows", "transactions"]
SHAPES: Final[Sequence[Shape]] = get_args(Shape)


class LogShape(TypedDict, total=False):
    """The shape in which the log is shown, which a question has too, so that a view keeps it."""

    show: Annotated[Shape | None, Selects(words="the log as transactions, or as rows, one an entry", api="view")]


_LOG_WITHOUT_SEARCH: Final = vocabulary(EntryFilter)
_LISTS: Final[Mapping[ViewedList, Vocabulary]] = {
    "audit": vocabulary(EntryFilter, SearchFilter, LogShape),
    "deliveries": vocabulary(DeliveryFilter),
    "messages": vocabulary(MessageFilter),
    "endpoints": vocabulary(EndpointFilter),
}


def keys_of(of: ViewedList, *, has_past: bool = True) -> Vocabulary:
    """The keys of a list. Without a past, the audit log cannot be searched."""
    return _LOG_WITHOUT_SEARCH if of == "audit" and not has_past else _LISTS[of]


def problem_of(question: str, words: Vocabulary) -> str | None:
    """The sentence on why a question cannot be read; None if it can."""
    try:
        found = read(question, words, now=datetime.now(UTC))
    except QuestionError as error:
        return str(error)
    return None if found else "The question asks for nothing."
