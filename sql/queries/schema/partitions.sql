select 'svc.audit_logs' as identity,
       case when not exists (
                select from pg_inherits i
                  join pg_class c on c.oid = i.inhrelid
                 cross join lateral regexp_match(
                        pg_get_expr(c.relpartbound, c.oid),
                        $re$^FOR VALUES FROM \((?:MINVALUE|'([^']+)')\) TO \((?:MAXVALUE|'([^']+)')\)$$re$
                       ) bounds
                 where i.inhparent = to_regclass('svc.audit_logs') and bounds is not null
                   and coalesce(bounds[1]::timestamptz <= now(), true)
                   and coalesce(bounds[2]::timestamptz > now(), true)
            ) then 'missing'
            when exists (select from svc.audit_logs_default) then 'outdated'
            else 'ok' end as state
union all
(select c.oid::regclass::text, 'tampered'
   from pg_class c
  where c.relnamespace = 'svc'::regnamespace and c.relname ~ '^audit_logs_([0-9]{4}_[0-9]{2}(_[0-9]{2})?|default)$'
    and c.relkind = 'r' and not c.relispartition
  order by 1)
