"""The filters of the coverage of a database, whose conditions are the methods of the same names in CoverageQuery."""

from typing import Annotated, Literal, TypedDict

from svc_pg.database.filters import Selects

State = Literal["audited", "drifting", "not_audited"]
RelationKind = Literal["table", "partitioned_table", "foreign_table", "view", "materialized_view"]
Reason = Literal[
    "excluded",
    "foreign_table",
    "materialized_view",
    "no_such_table",
    "not_in_configuration",
    "trigger_disabled",
    "trigger_missing",
    "view",
]


class CoverageFilter(TypedDict, total=False):
    """Conditions on tables; a table must meet all that are not None. ``text`` is a part of its name."""

    state: Annotated[State | None, Selects(words="tables in this state", word="State")]
    schema: Annotated[str | None, Selects(words="tables of this schema", example="public")]
    text: Annotated[
        str | None, Selects(words="tables with these letters in their name or that of their schema", example="order")
    ]
