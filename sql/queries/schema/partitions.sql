select 'svc.audit_logs' as identity,
       case when to_regclass(to_char(now() at time zone 'UTC', '"svc.audit_logs_"YYYY_MM')) is null then 'missing'
            when exists (select from svc.audit_logs_default) then 'outdated'
            else 'ok' end as state
union all
(select c.oid::regclass::text, 'tampered'
   from pg_class c
  where c.relnamespace = 'svc'::regnamespace and c.relname ~ '^audit_logs_([0-9]{4}_[0-9]{2}|default)$'
    and c.relkind = 'r' and not c.relispartition
  order by 1)
