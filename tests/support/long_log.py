"""A log of many entries under each state of the planner's statistics, and the pages that a call of it touches."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, LiteralString, get_args

import psycopg
from psycopg import AsyncConnection

from svc_pg import Config, schema

Connection = psycopg.Connection[Any]

Statistics = Literal["never analyzed", "analyzed when small", "right"]

STATES: Final[tuple[Statistics, ...]] = get_args(Statistics)
HOT: Final = "1"
"""The record of table t that has three of ten entries."""
BULK: Final = 7
"""The transaction that wrote a tenth of all entries, and at most half a million."""
_MOST_BULK: Final = 500_000

_FILL: Final = """
insert into svc.audit_logs ("timestamp", xact_id, table_name, table_oid, operation, record_id, moved_from, actor_id,
                            tenant_id, before_data, after_data, changed_fields, label, severity, compliance, context)
select now() - interval '1 d' * %(days)s * (1 - n / %(entries)s::float8),
       case when n > %(entries)s * 0.5 and n <= %(entries)s * 0.5 + %(bulk)s then 7 else 10 + n / 2 end,
       case when n %% 10 < 7 then 'public.t' when n %% 1000 = 7 then 'public.rare' else 'public.u' || n %% 28 end,
       0, (case when n %% 40000 = 39 then 'TRUNCATE' else 'UPDATE' end)::svc.audit_operation,
       case when n %% 40000 = 39 then null
            when n > %(entries)s * 0.5 and n <= %(entries)s * 0.5 + %(bulk)s then 'bulk ' || n
            when n %% 10 < 3 then '1'
            when n %% 10 < 7 then (2 + n / 10 * 4 %% (%(entries)s / 50) + n %% 10)::text else (n %% 500)::text end,
       case when n %% 5000 = 3 then 'moved ' || n end,
       case when n %% 20000 = 11 then 'rare' when n %% 3 = 0 then 'actor ' || n %% 50 end,
       case when n %% 20000 = 13 then 'rare' when n %% 5 < 4 then 'tenant ' || n %% 900 end,
       jsonb_build_object('id', n %% 10, 'a', n), jsonb_build_object('id', n %% 10, 'a', n + 1),
       case when n %% 20000 = 17 then '{a,email}' else '{a}' end::text[],
       case when n %% 20000 = 19 then 'rare' when n %% 7 = 0 then 'frequent' end,
       (case when n %% 20000 = 21 then 'critical' when n %% 7 = 0 then 'low' end)::svc.audit_severity,
       case when n %% 20000 = 23 then '{gdpr}'::text[] end,
       case when n %% 20000 = 27 then '{"request": "rare"}'::jsonb end
  from generate_series(%(first)s::int, %(last)s::int) n
"""


_FORGET: Final = """
delete from pg_statistic s using pg_class c where c.oid = s.starelid and c.relnamespace = 'svc'::regnamespace;
update pg_class set relpages = 0, reltuples = case when current_setting('server_version_num')::int < 140000 then 0
                                              else -1 end
 where relnamespace = 'svc'::regnamespace and relkind in ('r', 'p', 'i', 'I')
"""


def fill(conn: Connection, entries: int, *, days: int = 240) -> None:
    """Audit table t, and fill the log: 30 tables, of which t has most; what is rare is in every part.

    It was analyzed when it was small.
    """
    conn.execute("create table t (id int primary key, a int)")
    config = Config.model_validate({"audit": {"tables": [{"name": "t"}]}})
    schema.install(conn, config)
    first = begin(conn, entries, days=days)
    conn.execute("analyze")
    add(conn, first, entries, entries=entries, days=days)
    schema.install(conn, config)  # an epoch begins, so that transactions that the server never had count as ended
    end(conn)


def begin(conn: Connection, entries: int, *, days: int) -> int:
    """Make the first of the entries and the partitions of all; returns the number of the next one to ``add``."""
    beginning = entries // 400
    add(conn, 1, beginning, entries=entries, days=days)
    # the months of the rest, or all of it would be moved to them
    conn.execute(
        "insert into svc.audit_logs (timestamp, table_name, table_oid, operation)"
        " select now() - n * interval '1 month', 'public.months', 0, 'INSERT' from generate_series(0, %s) n",
        [days // 30 - 1],
    )
    conn.execute("select svc.audit_ensure_partitions()")
    return beginning + 1


def add(conn: Connection, first: int, last: int, *, entries: int, days: int) -> None:
    """Make a part of the entries, of 1 to ``entries``."""
    bulk = min(entries // 10, _MOST_BULK)
    conn.execute(_FILL, {"entries": entries, "days": days, "bulk": bulk, "first": first, "last": last})


def end(conn: Connection) -> None:
    """Summarize what BRIN indexes do not have yet."""
    conn.execute(
        "select brin_summarize_new_values(c.oid) from pg_class c join pg_am m on m.oid = c.relam"
        " where m.amname = 'brin' and c.relkind = 'i' and c.relname like 'audit_logs_%'"
    )


def know(conn: Connection, state: Statistics) -> None:
    """Bring the statistics into this state, after ``fill``."""
    match state:
        case "never analyzed":
            conn.execute(_FORGET)
        case "right":
            conn.execute("analyze")
        case "analyzed when small":
            pass


PAGES: Final[LiteralString] = """
select coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int
  from pg_class c
 where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'i')
"""


def pages(conn: Connection, call: Callable[[], object]) -> int:
    """The pages of the log and its indexes that a call touches, its plans made before. ``conn`` is in autocommit."""
    call()
    with conn.transaction(force_rollback=True):
        before: int = conn.execute(PAGES).fetchall()[0][0]
        call()
        after: int = conn.execute(PAGES).fetchall()[0][0]
    return after - before


async def apages(conninfo: str, call: Callable[[AsyncConnection[Any]], Awaitable[object]]) -> int:
    """As ``pages``, of a call on an async connection in a transaction, whose settings it may change."""
    async with await AsyncConnection.connect(conninfo) as conn:
        await call(conn)
        await conn.rollback()
        [before] = await (await conn.execute(PAGES)).fetchall()
        await call(conn)
        [after] = await (await conn.execute(PAGES)).fetchall()
        await conn.rollback()
    return int(after[0] - before[0])
