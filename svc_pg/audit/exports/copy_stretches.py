"""The statements of an export on PostgreSQL: one after the other, each of a stretch of the log."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from svc_pg.audit.exports.export_copy import copy
from svc_pg.audit.log.entry import BEYOND, ORDER_BY, beyond_parameters
from svc_pg.audit.log.export_fields import Format
from svc_pg.audit.read.stretch import Reach, stretch, timed
from svc_pg.database.effects import Effects
from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.performing import ByIndexes
from svc_pg.database.query import Query

MAX_ENTRIES: Final = 50_000
"""The entries that a statement looks at."""

_END: Final = 'select "timestamp", id from '
_OF_END: Final = " offset %s limit 1"
_UP_TO: Final = '"timestamp" <= %s and ("timestamp", id) <= (%s, %s)'


@dataclass(frozen=True, slots=True)
class _End:
    timestamp: datetime
    id: int


@dataclass(slots=True)
class CopyStretches:
    """The statements that answer with the wanted entries after ``edge``, the time and id of one, the oldest first."""

    form: Format
    wanted: Filter
    reach: Reach
    edge: tuple[datetime, int] | None = None
    is_ended: bool = False

    def next(self) -> Effects[tuple[LiteralString, tuple[object, ...]] | None]:
        """The next statement, and its parameters; None after the last."""
        if self.is_ended:
            return None
        self.reach = yield from timed(self.reach)
        order = ORDER_BY["oldest"]
        beyond = ALL if self.edge is None else ALL.where(BEYOND["oldest"], *beyond_parameters(*self.edge))
        found = yield from stretch(self.reach, order, beyond=beyond, most=MAX_ENTRIES)
        ends: list[_End] = yield ByIndexes(
            Query(_END + found.text + " audit_logs" + found.order + _OF_END, (*found.params, MAX_ENTRIES - 1), _End)
        )
        self.is_ended = not ends
        for end in ends:  # by its position: of more entries that come meanwhile, none pushes another out
            self.edge = (end.timestamp, end.id)
            beyond = beyond.where(_UP_TO, *beyond_parameters(*self.edge))
        found = yield from stretch(self.reach, order, beyond=beyond, most=2 * MAX_ENTRIES)
        return copy(self.form, found, self.wanted)
