"""The statements of one table, each rendered once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from svc_pg.capture.rules import TableRules
from svc_pg.other_databases.capture.capture_dialect import CaptureDialect
from svc_pg.other_databases.capture.entry_sql import NULL, EntrySql, json_list
from svc_pg.rendering.sql_text import sql
from svc_pg.rendering.templates import Quoting, render_for

_MOST: Final = 100
_TRUE: Final = sql("1 = 1")


@dataclass(frozen=True, slots=True)
class TableStatements:
    """The rendered statements, at most 100, of the templates in a folder of ``sql``: they come again and again."""

    folder: str
    texts: dict[tuple[str, ...], str] = field(default_factory=dict)

    def rendered(
        self,
        quoting: Quoting,
        template: str,
        facts: Callable[[], Mapping[str, object]],
        values: Mapping[str, object],
    ) -> str:
        """The statement of a template with these values, and with ``facts``, which are always those of the table."""
        key = (template, *(str(value) for value in values.values()))
        if key not in self.texts:
            if len(self.texts) >= _MOST:
                self.texts.clear()
            path = f"{self.folder}/reconciliation/{template}.sql.j2"
            self.texts[key] = render_for(quoting, path, **facts(), **values)
        return self.texts[key]


def facts_of(dialect: CaptureDialect, rules: TableRules, entry: EntrySql) -> dict[str, object]:
    """The values for all templates that both kinds of databases have."""
    redacted = sorted(rules.redactions)
    return {
        "table_name": str(rules.table.name),
        "record_id": entry.record_id,
        "image": entry.after,
        "recorded": entry.recorded or _TRUE,
        "redacted": dialect.literal(json_list(redacted)) if redacted else NULL,
    }
