"""The values that a filter of the audit log can have: those of all entries, if an index has them, else of the newest.

An index gives the next value of a column in one step, whatever number of entries have the value before.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, LiteralString, get_args

from psycopg import AsyncConnection

from svc_pg.audit.read.audit_query import AuditQuery
from svc_pg.audit.read.facets import MAX_ENTRIES, Facets
from svc_pg.audit.read.sample import values_of_newest
from svc_pg.database.by_indexes import aby_indexes
from svc_pg.database.performing import arun
from svc_pg.database.query import Query, afetch
from svc_pg.database.statements import statement
from svc_pg.formats.doc import Doc

Named = Literal["resource", "actor", "tenant", "label"]
Reached = Literal["log", "beginnings", "newest"]

NAMED: Final[tuple[Named, ...]] = get_args(Named)
MOST_VALUES: Final = 10
MOST_BYTES: Final = 500
"""The most bytes of one value: longer ones are left out."""
MOST_STEPS: Final = 1_000
MOST_LOOKS: Final = 20_000
"""The most looks into the index of a partition: a step looks into each."""

_COLUMNS: Final[dict[Named, LiteralString]] = {
    "resource": "table_name",
    "actor": "actor_id",
    "tenant": "tenant_id",
    "label": "label",
}
_LEAST_STEPS: Final = 20
_INDEX: Final = statement("queries/audit/leading_index.sql")
_OF_INDEX: Final = statement("queries/audit/index_values.sql")
_OF_NEWEST: Final = """
select w.steps, f.value
  from (select coalesce(sum(entries), 0)::integer as steps from counted) w
  left join (
    select value from counted
     where is_selected and pg_catalog.strpos(pg_catalog.lower(value), pg_catalog.lower(%s)) > 0
       and pg_catalog.octet_length(value) <= %s
     order by not pg_catalog.starts_with(value, %s), value limit %s
  ) f on true
"""


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Values of a filter that have a text in them, the ones that begin with it first."""

    values: Annotated[
        list[str], Doc("Values with the text in them, 10 at most, those that begin with it first.", ["mara"])
    ]
    looked_at: Annotated[
        Reached,
        Doc(
            "`log` if all entries were looked at; `beginnings` if the log has too many values, so that of all entries"
            " only those values were found that begin with the text; `newest` if only the newest"
            f" {MAX_ENTRIES:,} entries were looked at: for a session of one tenant, or a filter without an index."
        ),
    ]

    def lacks(self, text: str) -> bool:
        """True if the text, which was asked for, is no value of the entries that were looked at."""
        return text not in self.values and len(text.encode()) <= MOST_BYTES


@dataclass(frozen=True, slots=True)
class _Index:
    partitions: int
    is_served: bool


@dataclass(frozen=True, slots=True)
class _Found:
    steps: int
    value: str | None


async def aknown_values(conn: AsyncConnection[Any], query: AuditQuery, name: Named, text: str) -> KnownValues:
    """Values of a filter among the entries that ``query`` selects. Never commits. Raises NotInstalledError."""
    [index] = await afetch(conn, Query(_INDEX, (_COLUMNS[name],), _Index))
    if query.conditions or not index.is_served:
        return await _of_newest(conn, query, name, text)
    steps = max(_LEAST_STEPS, min(MOST_STEPS, MOST_LOOKS // max(1, index.partitions)))
    async with aby_indexes(conn):
        first = await _walked(conn, name, text, beginning=text, steps=min(steps, MOST_VALUES))
        rest = await _walked(conn, name, text, beginning="", steps=steps)
    is_whole = rest[0].steps < steps
    return _known([*first, *rest], text, "log" if is_whole else "beginnings")


def of_facets(facets: Facets, name: Named, text: str) -> KnownValues:
    """The values that facets have counted, for databases without such an index."""
    counts = next((facet.values for facet in facets.facets if facet.name == name), [])
    wanted = text.lower()
    found = [_Found(0, each.value) for each in counts if each.value is not None and wanted in each.value.lower()]
    short = [each for each in found if len((each.value or "").encode()) <= MOST_BYTES]
    return _known(short, text, "newest")


async def _walked(conn: AsyncConnection[Any], name: Named, text: str, *, beginning: str, steps: int) -> list[_Found]:
    params = (beginning, steps, beginning, text, MOST_BYTES, MOST_VALUES)
    return await afetch(conn, Query(_OF_INDEX.replace("{column}", _COLUMNS[name]), params, _Found))


async def _of_newest(conn: AsyncConnection[Any], query: AuditQuery, name: Named, text: str) -> KnownValues:
    chosen = await arun(conn, values_of_newest(query, _COLUMNS[name], size=MAX_ENTRIES))
    params = (*chosen.params, text, MOST_BYTES, text, MOST_VALUES)
    async with aby_indexes(conn):
        found = await afetch(conn, Query(chosen.text + _OF_NEWEST, params, _Found))
    return _known(found, text, "log" if found[0].steps < MAX_ENTRIES and not query.conditions else "newest")


def _known(found: list[_Found], text: str, looked_at: Reached) -> KnownValues:
    values = dict.fromkeys(each.value for each in found if each.value is not None)
    first = sorted(values, key=lambda value: (value != text, not value.startswith(text)))
    return KnownValues(first[:MOST_VALUES], looked_at)
