-- the time in an id is that of its first 48 bits, in milliseconds
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
