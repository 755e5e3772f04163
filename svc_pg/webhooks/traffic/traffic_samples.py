"""Statements that sample deliveries by time: they read a bounded number of rows of any number.

Time is cut into stretches, each with its share of the rows that a statement may read. Rows that do not reach back to
the beginning of their stretch are a sample, from which the results of the stretch are estimated. The deliveries of such
a stretch are counted, up to a share of the statement's limit: a burst lasts only a moment, so its rate tells nothing of
the rest.
"""

from typing import Final, LiteralString

# the time in an id is that of its first 48 bits, in milliseconds
_SAMPLES: Final = """
with sampled as (
    select e.id as endpoint_id, b.at, t.starts, t.ends, s.*, pg_catalog.count(s.earliest) over () as full_ones
      from (
        select %(first)s::timestamptz + n::float8 * %(length)s::interval as at
          from generate_series(0, %(buckets)s - 1) n
      ) b
     cross join lateral (
        select b.at + part::float8 * %(length)s::interval / %(parts)s::float8 as starts,
               least(b.at + (part + 1)::float8 * %(length)s::interval / %(parts)s::float8, %(until)s) as ends
          from generate_series(0, %(parts)s - 1) part
     ) t
     cross join pg_catalog.unnest(%(endpoints)s::uuid[]) e(id)
     cross join lateral svc.webhook_sample(e.id, t.starts, t.ends, %(most)s, %(timed)s) s
     where t.starts < %(until)s
),
sample as (
    select s.endpoint_id, s.at, s.sent, s.delivered, s.failed, s.late, s.failed_attempts, s.durations,
           coalesce((s.sent + c.number)::float8 / s.sent::float8 * case when c.earliest is null then 1 else greatest(
               extract(epoch from s.ends - s.starts)::float8 * 1000::float8
               / greatest(extract(epoch from s.ends)::float8 * 1000::float8
                          - ('x' || left(replace(c.earliest::text, '-', ''), 12))::bit(48)::bigint::float8, 1),
               1) end, 1) as factor
      from sampled s
      left join lateral (
        select n.*
          from svc.webhook_count_sent(
              s.endpoint_id, s.starts, s.earliest, greatest(%(counted)s / nullif(s.full_ones, 0), 1)::integer
          ) n
         where s.earliest is not null
      ) c on true
),
bucket as (
    select s.endpoint_id, s.at, round(sum(s.sent::float8 * s.factor))::bigint as sent,
           round(sum(s.delivered::float8 * s.factor))::bigint as delivered,
           round(sum(s.failed::float8 * s.factor))::bigint as failed,
           round(sum(s.late::float8 * s.factor))::bigint as late,
           round(sum(s.failed_attempts::float8 * s.factor))::bigint as failed_attempts,
           bool_or(s.factor > 1::float8) as is_estimate
      from sample s
     group by s.endpoint_id, s.at
)
"""
_COLUMNS: Final = """pg_catalog.array_agg(b.at order by b.at) as at, pg_catalog.array_agg(b.sent order by b.at) as sent,
       pg_catalog.array_agg(b.delivered order by b.at) as delivered,
       pg_catalog.array_agg(b.failed order by b.at) as failed, pg_catalog.array_agg(b.late order by b.at) as late,
       pg_catalog.array_agg(b.failed_attempts order by b.at) as failed_attempts, bool_or(b.is_estimate) as is_estimate
"""
TRAFFIC: Final[LiteralString] = (
    _SAMPLES  # noqa: S608 - constants
    + """,
took as (
    select s.at, pg_catalog.percentile_cont(array[0.5, 0.95]) within group (order by d.milliseconds) as times
      from sample s cross join lateral pg_catalog.unnest(s.durations) d(milliseconds)
     group by grouping sets ((s.at), ())
)
select """
    + _COLUMNS
    + """, pg_catalog.array_agg(t.times[1] / 1000::float8 order by b.at) as p50s,
       pg_catalog.array_agg(t.times[2] / 1000::float8 order by b.at) as p95s,
       (select w.times[1] / 1000::float8 from took w where w.at is null) as p50,
       (select w.times[2] / 1000::float8 from took w where w.at is null) as p95
  from bucket b left join took t on t.at = b.at
"""
)
"""The traffic of one endpoint, or of all if ``endpoints`` is an array of null."""

ACTIVITY: Final[LiteralString] = (
    _SAMPLES  # noqa: S608 - constants
    + "select b.endpoint_id::text, "
    + _COLUMNS
    + """ from bucket b join svc.webhook_endpoints e on e.id = b.endpoint_id
 group by b.endpoint_id order by b.endpoint_id desc
"""
)
"""The traffic of each of ``endpoints``."""
