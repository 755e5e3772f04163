-- The times before which the purges with these facts removed entries: before of a month, which had entries of any
-- table, and by table, if later. Null if there is none. However often purges tell it again, each table is in it once.
-- access: admin
create or replace function svc.audit_purged_earlier(p_facts jsonb[]) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set "DateStyle" = 'ISO, YMD'
as $svc$
    with purged (name, before) as (
        select p.name, max(svc.audit_parsed_time(p.before))
          from unnest(p_facts) f(facts)
         cross join lateral (
            values (f.facts), (f.facts -> 'earlier')
         ) o(told)
         cross join lateral (
            select null, o.told ->> 'before'
             union all
            select e.key, e.value ->> 'before'
              from jsonb_each(case jsonb_typeof(o.told -> 'tables') when 'object' then o.told -> 'tables' end) e
         ) p(name, before)
         group by p.name
    ), month as (
        select max(p.before) as before from purged p where p.name is null
    )
    select nullif(jsonb_strip_nulls(jsonb_build_object(
               'before', m.before,
               'tables', (select jsonb_object_agg(p.name, jsonb_build_object('before', p.before))
                            from purged p
                           where p.name is not null and p.before > coalesce(m.before, '-infinity')))), '{}')
      from month m
$svc$;
revoke all on function svc.audit_purged_earlier(jsonb[]) from public;
