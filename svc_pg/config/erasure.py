"""The rules of erasure: the tables and columns that refer to a person."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

from svc_pg.database.table_names import TableName, unquoted
from svc_pg.errors import ConfigError

_NAME: Final = r'(?:"(?:[^"]|"")+"|[^.()",\s]+)'
_TABLE: Final = rf"(?P<table>(?:{_NAME}\.)?{_NAME})"
_ONE: Final = re.compile(rf"\s*{_TABLE}\.(?P<column>{_NAME})\s*")
_SEVERAL: Final = re.compile(rf"\s*{_TABLE}\s*\(\s*(?P<columns>{_NAME}(?:\s*,\s*{_NAME})*)\s*\)\s*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A table whose ``columns`` have the key of a record ``of`` another table."""

    of: str
    table: str
    columns: tuple[str, ...]

    @classmethod
    def parse(cls, of: str, text: str) -> "Reference":
        """Read ``orders.customer_id``, or ``orders(region, customer_no)``. Raises ConfigError if it is neither."""
        if match := _ONE.fullmatch(text):
            columns = [match["column"]]
        elif match := _SEVERAL.fullmatch(text):
            columns = re.findall(_NAME, match["columns"])
        else:
            raise ConfigError(f"{text!r} is not a table and its column; write orders.customer_id, or orders(a, b)")
        return cls(of, str(TableName.parse(match["table"])), tuple(map(unquoted, columns)))


def references(rules: Mapping[str, Sequence[str]]) -> list[Reference]:
    """The references of all rules. Raises ConfigError if they form a cycle, or a text is no reference."""
    found = [Reference.parse(of, text) for of, texts in rules.items() for text in texts]
    graph: dict[str, set[str]] = {}
    for each in found:
        graph.setdefault(each.table, set()).add(each.of)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise ConfigError(f"these tables refer to each other in a circle: {', '.join(error.args[1])}") from error
    return found
