"""The differences of tables from the log that are not repaired, for the command ``status``."""

from collections.abc import Sequence
from typing import Any, Final

from svc_pg.database.query import fetch
from svc_pg.formats.plurals import counted
from svc_pg.status.open_findings import MOST, OpenFinding, open_findings

from .. import output, records
from ..json_text import printable
from ..optional_read import quick_read

_MOST_TOLD: Final = 10
_SLOW: Final = "The results of reconciliations could not be read in time."


def read_findings(conn: Any) -> list[OpenFinding] | None:
    """The first tables with differences; None if they cannot be read, or not quickly."""
    nothing: list[OpenFinding] | None = None
    return quick_read(conn, lambda conn: fetch(conn, open_findings()), nothing, slow=_SLOW)


def tell(findings: Sequence[OpenFinding]) -> None:
    """Print a line for each of the first tables, and the next step."""
    for each in findings[:_MOST_TOLD]:
        kinds = {"missing in the log": each.missing, "different": each.differing, "in the log only": each.gone}
        numbers = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
        verb = "is" if each.unrepaired == 1 else "are"
        output.words(
            f"{printable(each.table_name)}: {counted(each.unrepaired, 'difference')} from the log {verb} not repaired;"
            f" the comparison of {records.minute(each.found_at)} found {numbers}."
        )
    more = len(findings) - _MOST_TOLD
    if more > 0:
        first = "at least " if len(findings) == MOST else ""
        output.words(f"So {'has' if more == 1 else 'have'} {first}{counted(more, 'more table')}; --json lists them.")
    if findings:
        output.words("To see them: svc-pg reconcile. To record what differs: svc-pg reconcile --repair")


def as_json(findings: Sequence[OpenFinding] | None) -> dict[str, Any]:
    """The member of the JSON document of status."""
    if findings is None:
        return {"reconciliation": None}
    return {
        "reconciliation": [
            {
                "table": each.table_name,
                "foundAt": each.found_at,
                "unrepaired": each.unrepaired,
                "missing": each.missing,
                "differing": each.differing,
                "gone": each.gone,
            }
            for each in findings
        ]
    }
