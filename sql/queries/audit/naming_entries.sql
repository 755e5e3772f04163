-- Of the entries of a source, which come newest first: their number, the place of the oldest, the number of those
-- that do not tell the columns of the reference, and the newest that name one of its values, or are of the record
select pg_catalog.count(*)::integer as looked_at, min(x."timestamp") as back_to,
       ((pg_catalog.array_agg(x.id))[pg_catalog.count(*)])::text as back_to_id,
       (pg_catalog.count(*) filter (where x.is_named is false))::integer as unnamed,
       pg_catalog.to_json((
           pg_catalog.array_agg(
               pg_catalog.json_build_array(x.id::text, x."timestamp", x.record_id, x.operation, x.xact_id::text,
                                           x.before_value, x.after_value, {outward})
               order by x."timestamp" desc, x.id desc
           ) filter (where x.is_named and x.is_selected)
       )[1:{most}]) as found
  from (
    select v.id, v."timestamp", v.record_id, v.operation, v.xact_id, v.before_data, v.after_data, v.redacted_fields,
           v.before_value, v.after_value, case when v.is_wanted then {is_named} end as is_named,
           case when v.is_wanted then {is_selected} end as is_selected
      from (
        select w.*, case when w.is_wanted then {before} end as before_value,
               case when w.is_wanted then {after} end as after_value
          from (
            select audit_logs.*, {is_wanted}
                   and audit_logs.operation in ('INSERT', 'UPDATE', 'DELETE', 'SNAPSHOT', 'GONE') as is_wanted
              from {source} audit_logs
          ) w
         offset 0
      ) v
  ) x
