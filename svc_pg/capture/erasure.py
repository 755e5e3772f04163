"""Check that the log has what the rules of erasure look for."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from svc_pg.capture.rules import TableRules
from svc_pg.capture.table import check_column
from svc_pg.config.erasure import Reference
from svc_pg.errors import ConfigError
from svc_pg.table_names import TableName


def check_erasure(references: Iterable[Reference], recorded: Mapping[TableName, TableRules]) -> None:
    """Raise ConfigError if a rule names a table that is not audited, or a column whose values the log does not have."""
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
