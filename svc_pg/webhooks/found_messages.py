"""The stretches of lists that are led by messages: those of an event or a tenant, or with a searched value.

An index has the ids of the messages in the order of the list, and each leads to its own rows. The last message of a
stretch ends it also if it has none.
"""

from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.database.pagination import ALL, Filter
from svc_pg.database.stretches import Rows, Span, beyond, filled

_ROWS: Final[LiteralString] = """
    select s.value, s.found, s."svc is last", {edge}::uuid as edge, {name}.*
      from (
        select {lead} as value, {id} as found, row_number() over ({order}) = {most} as "svc is last"
          from {source}{reach}{order} limit {most}
      ) s
      left join lateral (select * from {table} each where {each} offset 0) {name} on true{beyond}
     order by s.value{end}, s.found{end}, {name}.id{end} limit {most}"""
# with the value, which is that of all, they have the order of the index, and only the rows of each message are sorted
_FIRST: Final[LiteralString] = "'00000000-0000-0000-0000-000000000000'"
_LAST: Final[LiteralString] = "'ffffffff-ffff-ffff-ffff-ffffffffffff'"


@dataclass(frozen=True, slots=True)
class ByMessages:
    """The rows of a ``table``, called by a ``name``, whose ``key`` is the id of a message in a span of a ``source``.

    A row has that id as ``found`` beside its own columns, which are null if the message has none, and as ``edge`` an id
    that is beyond all of the message.
    """

    source: LiteralString
    span: Span
    table: LiteralString
    key: LiteralString
    name: LiteralString
    others: Filter
    each: Filter = ALL
    """Conditions on the rows of a message: those that do not meet them do not count as looked at."""

    def rows(self, position: tuple[object, ...] | None, *, is_backward: bool, most: LiteralString) -> Rows:
        """The next rows after a position: the id of a message, and if it may have many rows, that of a row."""
        span, after = self.span, ALL
        end: LiteralString = "" if is_backward else " desc"
        if position is not None:
            span = span.after(position[0], is_backward=is_backward)
            row: tuple[LiteralString, ...] = ("s.found", self.name + ".id")
            after = beyond(row[: len(position)], position, is_backward=is_backward)
        reach = self.others.joined(span.reach)
        text = filled(
            _ROWS,
            edge=_LAST if is_backward else _FIRST,
            lead=span.leads[0][0],
            id=span.id,
            source=self.source,
            reach=reach.clause,
            order=span.order(is_backward=is_backward),
            beyond=after.clause,
            table=self.table,
            each=" and ".join(("each." + self.key + " = s.found", *self.each.conditions)),
            name=self.name,
            end=end,
            most=most,
        )
        order = filled(" order by {name}.value{end}, {name}.found{end}, {name}.id{end}", name=self.name, end=end)
        return Rows(text, (*reach.params, *self.each.params, *after.params), order, has_last=True)
