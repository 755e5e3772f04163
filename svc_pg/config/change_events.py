"""Rules that send changes of a table as events: ``[[webhooks.on_change]]``."""

import re
from collections.abc import Mapping
from string import Formatter
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from svc_pg.config.model import StrictModel, TableText
from svc_pg.database.table_names import TableName

ChangeOperation = Literal["INSERT", "UPDATE", "DELETE"]

# A query would run with the rights of the trigger's owner, who may read none of the application's tables
_QUERY: Final = re.compile(r"\(\s*(select|with|table|values)\b", re.IGNORECASE)

_KEY_EXAMPLE: Final = 'write a column, or a text with columns in braces: "order-{id}"'


class RowValue(NamedTuple):
    """A column of the row before or after a change; ``row`` is the newer of the two, or the only one."""

    source: Literal["before", "after", "row"]
    column: str

    @classmethod
    def parse(cls, text: str) -> "RowValue":
        """Read ``column``, ``before.column`` or ``after.column``."""
        source, dot, column = text.partition(".")
        if dot and column and source == "before":
            return cls("before", column)
        if dot and column and source == "after":
            return cls("after", column)
        return cls("row", text)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _not_ours(table: str) -> str:
    if TableName.parse(table).schema == "svc":
        raise ValueError(f"{table} belongs to svc-pg, and its changes are not sent")
    return table


def _key(text: str, table: str) -> tuple[str | RowValue, ...]:
    """Read a column, or a text with columns in braces. Raises ValueError."""
    if text and not set("{}") & set(text):
        return (str(TableName.parse(table)).removeprefix("public.") + ":", RowValue("row", text))
    parts: list[str | RowValue] = []
    try:
        for before, column, spec, conversion in Formatter().parse(text):
            if column == "" or spec or conversion:
                raise ValueError("a column has only its name")
            parts += [before] if before else []
            parts += [RowValue("row", column)] if column else []
    except ValueError as error:
        raise ValueError(f"{text!r} is not a key: {error}; {_KEY_EXAMPLE}") from error
    if not any(isinstance(part, RowValue) for part in parts):
        raise ValueError(f"{text!r} names no column; {_KEY_EXAMPLE}")
    return tuple(parts)


class OnChange(StrictModel):
    """A rule that sends the changed rows of a table as an event.

    - ``table``: one table; if it is partitioned, the parent.
    - ``operation``: ``INSERT``, ``UPDATE``, ``DELETE``, or a list of them.
    - ``columns``: send only the updates that change one of these columns.
    - ``when``: an SQL expression over ``before`` and ``after``, rows of the table: send only if it is true.
    - ``event``: the event's name.
    - ``payload``: the columns to send, or a table of names and the columns they hold (``before.status`` is the old
      value), or ``row``: all columns that are not redacted. Default: the key.
    - ``tenant``: the column that holds the row's tenant.
    - ``key``: the column that puts messages into an order (``id`` of ``orders`` gives ``orders:7``), or a text with
      columns in braces: ``order-{id}``.
    """

    table: Annotated[TableText, AfterValidator(_not_ours)]
    operations: Annotated[list[ChangeOperation], BeforeValidator(_listed)] = Field(alias="operation", min_length=1)
    columns: list[str] | None = Field(default=None, min_length=1)
    when: str | None = None
    event: str
    payload: Literal["row"] | dict[str, str] | None = None
    tenant: str | None = None
    key: str | None = None

    @field_validator("when")
    @classmethod
    def _no_query(cls, when: str | None) -> str | None:
        if when is not None and _QUERY.search(when):
            raise ValueError("a condition sees only before and after; it cannot contain a query")
        return when

    @field_validator("payload", mode="before")
    @classmethod
    def _by_name(cls, payload: object) -> object:
        """Read a list of columns as columns under their own names."""
        if payload in ([], {}):
            raise ValueError("an empty payload; leave it out, and the key is sent")
        if isinstance(payload, list | tuple) and all(isinstance(column, str) for column in payload):
            return {column: column for column in payload}
        if isinstance(payload, Mapping) and all(isinstance(column, str) for column in payload.values()):
            return payload
        if payload is None or payload == "row":
            return payload
        raise ValueError(f'{payload!r} is not a payload; write "row", a list of columns or a table of them')

    @model_validator(mode="after")
    def _fits(self) -> "OnChange":
        _ = self.key_parts
        if self.columns and "UPDATE" not in self.operations:
            raise ValueError("columns is for UPDATE")
        for source, missing in (("before", "INSERT"), ("after", "DELETE")):
            if self.operations == [missing] and any(value.source == source for value in self.values.values()):
                raise ValueError(f"the payload names {source}, and {missing} has no such row")
        return self

    @property
    def values(self) -> dict[str, RowValue]:
        """The columns of the payload by name, if it lists them."""
        listed = self.payload if isinstance(self.payload, dict) else {}
        return {name: RowValue.parse(text) for name, text in listed.items()}

    @property
    def key_parts(self) -> tuple[str | RowValue, ...]:
        """The texts and columns whose concatenation is the key; empty if there is none."""
        return () if self.key is None else _key(self.key, self.table)
