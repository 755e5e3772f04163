"""Conditions over the values of a row: when a rule applies, or a change is recorded."""

import sys
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from svc_pg.config.model import StrictModel

Scalar = bool | int | float | str


def _test(value: object) -> object:
    """Read a bare value as a test for equality, and a list as one for membership."""
    if isinstance(value, dict | ValueTest):
        return value
    return {"in": value} if isinstance(value, list) else {"eq": value}


class ValueTest(StrictModel):
    """Tests of a column's value, which must all hold. A missing value satisfies only ``is_null``."""

    eq: Scalar | None = None
    ne: Scalar | None = None
    gt: int | float | str | None = None
    ge: int | float | str | None = None
    lt: int | float | str | None = None
    le: int | float | str | None = None
    one_of: list[Scalar] | None = Field(default=None, alias="in", min_length=1)
    is_null: bool | None = None

    @field_validator("eq", "ne", "gt", "ge", "lt", "le", "one_of")
    @classmethod
    def _has_numbers(cls, value: Scalar | list[Scalar] | None) -> Scalar | list[Scalar] | None:
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int | float) and not abs(each) <= sys.float_info.max:
                raise ValueError("a number that not all databases compare with; write one that a double can have")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> "ValueTest":
        if not self.model_fields_set:
            raise ValueError(
                "an empty test; write a value, a list, or a table with eq, ne, gt, ge, lt, le, in, is_null"
            )
        return self


Tests = dict[str, Annotated[ValueTest, BeforeValidator(_test)]]


class Condition(StrictModel):
    """The condition under which a rule applies, or a change is recorded.

    All its parts must hold, except those inside ``any`` and ``not``. ``changed`` holds if one of these columns changed.
    ``sql`` is an expression over ``before`` and ``after``, both jsonb, and ``actor_id``; it is put into the trigger
    unchanged.
    """

    changed: list[str] = []
    before: Tests = {}
    after: Tests = {}
    all_of: list["Condition"] = Field(default=[], alias="all")
    any_of: list["Condition"] = Field(default=[], alias="any")
    none_of: "Condition | None" = Field(default=None, alias="not")
    sql: str | None = None

    @field_validator("changed", mode="before")
    @classmethod
    def _one_column(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _says_something(self) -> "Condition":
        if not any((self.changed, self.before, self.after, self.all_of, self.any_of, self.none_of, self.sql)):
            raise ValueError("an empty condition; write changed, before, after, all, any, not or sql")
        return self

    def columns(self) -> set[str]:
        """All columns that the condition names, apart from ``sql``."""
        return {*self.changed, *self.before, *self.after}.union(*(part.columns() for part in self._parts))

    @property
    def has_sql(self) -> bool:
        """True if any part of the condition is SQL."""
        return self.sql is not None or any(part.has_sql for part in self._parts)

    def as_written(self) -> dict[str, Any]:
        """The condition as JSON, with the names of the configuration."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)

    @property
    def _parts(self) -> list["Condition"]:
        return [*self.all_of, *self.any_of, *([self.none_of] if self.none_of else [])]
