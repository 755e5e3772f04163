"""Request bodies of the routes of named views."""

from typing import Annotated
from unicodedata import category

from pydantic import AfterValidator, ConfigDict, Field

from svc_pg.console.http.body import RequestBody, without_defaults
from svc_pg.console.views.named_views import LONGEST_NAME, ViewedList
from svc_pg.questions.reading import MOST_CHARACTERS

_BREAKS = frozenset({"Cc", "Zl", "Zp"})


def _one_line(name: str) -> str:
    if name != name.strip() or any(category(character) in _BREAKS for character in name):
        raise ValueError("a name has no spaces around it and no control characters")
    return name


_Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_NAME,
        description="One line, without spaces around it, which no other view of the list has.",
        examples=["Failed payments"],
    ),
    AfterValidator(_one_line),
]
_Question = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MOST_CHARACTERS,
        description="As the bar of the list takes it. Its yesterday is that of the day on which it is opened.",
        examples=["status:failed event:order.paid yesterday"],
    ),
]


class CreateViewRequest(RequestBody):
    """A question to keep."""

    of: ViewedList = Field(description="The list of which it is a question.", examples=["deliveries"])
    name: _Name
    question: _Question


class UpdateViewRequest(RequestBody):
    """Changes of a view; fields that are left out stay."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: _Name = Field(default_factory=str)
    question: _Question = Field(default_factory=str)
