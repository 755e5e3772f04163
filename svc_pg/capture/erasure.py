"""Check that the log has the values that the rules of erasure look for."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.capture.table import check_column
from svc_pg.config.erasure import Reference
from svc_pg.database.table_names import TableName
from svc_pg.errors import ConfigError

_INTEGERS: Final = ("smallint", "integer", "bigint")
_TEXTS: Final = ("text", "character")  # may have any key as the application writes it


def check_erasure(references: Iterable[Reference], recorded: Mapping[TableName, TableRules]) -> None:
    """Raise ConfigError if a rule names a table that is not audited, or a column that the log cannot match with keys.

    Its values are redacted, or the log writes them differently from the key.
    """
    for reference in references:
        for name in (reference.of, reference.table):
            if TableName.parse(name) not in recorded:
                near = get_close_matches(name, map(str, recorded), n=1)
                raise ConfigError(
                    f'audit.erasure: table "{name}" is not audited', hint=f'Did you mean "{near[0]}"?' if near else None
                )
        rules = recorded[TableName.parse(reference.table)]
        for column in reference.columns:
            check_column(rules.table, "audit.erasure", column)
            if column in rules.redacted_columns:
                raise ConfigError(
                    f'audit.erasure: the log has no values of "{column}" of table "{reference.table}", because it is'
                    " redacted, so nothing tells whose entries they are"
                )
        _check_types(reference, rules, recorded[TableName.parse(reference.of)])


def _check_types(reference: Reference, rules: TableRules, of: TableRules) -> None:
    """Raise ConfigError if equal values of a column and of the key are different texts: 5 and 5.00."""
    if len(of.key) == 1 and of.table.types.get(of.key[0]) == "jsonb":
        raise ConfigError(
            f'audit.erasure: the key of "{reference.of}" is jsonb, which the log writes differently than'
            f' "{reference.columns[0]}" of table "{reference.table}"',
            hint="Give the table a key of another type.",
        )
    for column, key in zip(reference.columns, of.key, strict=False):
        types = [rules.table.types.get(column, "text"), of.table.types.get(key, "text")]
        if types[0] == types[1] or all(each in _INTEGERS for each in types):
            continue
        if not any(each.startswith(_TEXTS) for each in types):
            raise ConfigError(
                f'audit.erasure: "{column}" of table "{reference.table}" is {types[0]} and the key of'
                f' "{reference.of}" is {types[1]}, which the log writes differently',
                hint="Give both columns the same type.",
            )
