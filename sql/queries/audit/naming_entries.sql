-- Of the entries of a source: their number, the place of the oldest, the number of those that do not tell the columns of
-- the reference, and the newest that name one of its values, or are of the record
select pg_catalog.count(*)::integer as looked_at, min(x."timestamp") as back_to,
       ((pg_catalog.array_agg(x.id order by x."timestamp", x.id))[1])::text as back_to_id,
       (pg_catalog.count(*) filter (where x.is_wanted and not x.is_named))::integer as unnamed,
       pg_catalog.to_json((
           pg_catalog.array_agg(
               pg_catalog.json_build_array(x.id::text, x."timestamp", x.record_id, x.operation, x.xact_id::text,
                                           x.before_value, x.after_value, x.outward)
               order by x."timestamp" desc, x.id desc
           ) filter (where x.is_wanted and x.is_named and x.is_selected)
       )[1:{most}]) as found
  from (
    select audit_logs.id, audit_logs."timestamp", audit_logs.record_id, audit_logs.operation, audit_logs.xact_id,
           v.before_value, v.after_value, {outward} as outward,
           {is_wanted} and audit_logs.operation in ('INSERT', 'UPDATE', 'DELETE', 'SNAPSHOT', 'GONE') as is_wanted,
           {is_named} as is_named, {is_selected} as is_selected
      from {source} audit_logs
     cross join lateral (select {before} as before_value, {after} as after_value) v
  ) x
