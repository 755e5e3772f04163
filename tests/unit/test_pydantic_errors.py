from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from svc_pg.formats.pydantic_errors import reason


class Part(Enum):
    one = "one"


def even(value: int) -> int:
    if value % 2:
        raise ValueError("odd")
    return value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, "x", "write a whole number"),
        (int, 1.5, "write a whole number"),
        (int, [], "write a whole number"),
        (bool, "perhaps", "write true or false"),
        (bool, 3, "write true or false"),
        (bool, [], "write true or false"),
        (str, 3, "write a text"),
        (Annotated[str, Field(max_length=3)], "four", "write at most 3 characters"),
        (Annotated[str, Field(min_length=1)], "", "write a text of at least 1"),
        (list[int], "x", "write a list"),
        (tuple[int, ...], {}, "write a list"),
        (dict[str, int], "x", "write names with values"),
        (Literal["row", "statement"], "rows", "write 'row' or 'statement'"),
        (Annotated[int, Field(ge=1)], 0, "write 1 or more"),
        (Annotated[int, Field(le=9)], 10, "write 9 or less"),
        (Annotated[float, Field(ge=1)], 0.5, "write 1 or more"),
        (Annotated[float, Field(le=0.5)], 1, "write 0.5 or less"),
        (Annotated[list[int], Field(min_length=1)], [], "write a list of at least 1"),
        (UUID, "7", "not an id: ids are UUIDs"),
        (Annotated[int, AfterValidator(even)], 3, "odd"),
        (Part, "two", "Input should be 'one'"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(kind: Any, value: object, expected: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert [reason(each) for each in caught.value.errors()] == [expected]
