"""The keys of a question to each list of the console that can be asked one."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from svc_pg.audit.read.audit_filters import EntryFilter, SearchFilter
from svc_pg.console.named_views import ViewedList
from svc_pg.questions.reading import QuestionError, read
from svc_pg.questions.words import Vocabulary, vocabulary
from svc_pg.webhooks.deliveries.delivery_filters import DeliveryFilter
from svc_pg.webhooks.endpoints.endpoint_filters import EndpointFilter
from svc_pg.webhooks.messages.message_queries import MessageFilter

_LOG_WITHOUT_SEARCH: Final = vocabulary(EntryFilter)
_LISTS: Final[Mapping[ViewedList, Vocabulary]] = {
    "audit": vocabulary(EntryFilter, SearchFilter),
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
