-- The tables with triggers of capture, and others that should have some
select a.name, a.capture
  from (
    select coalesce(o.audited_table, w.name) as name,
           case when o.audited_table is null or bool_or(t.oid is null) then 'missing'
                when bool_or(t.tgenabled in ('D', 'R')) then 'disabled' else 'recording' end as capture
      from (
        select identity, audited_table from svc.installed_objects
         where kind = 'trigger' and identity like E'00\\_svc\\_audit\\_%%' and audited_table is not null
      ) o
      left join (
        select t.oid, t.tgenabled, t.tgname::text || ' on ' || {name} as identity
          from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
         where t.tgname::text like E'00\\_svc\\_audit\\_%%'
      ) t on t.identity = o.identity
      full join pg_catalog.unnest(%s::text[]) w(name) on w.name = o.audited_table
     group by o.audited_table, w.name
  ) a
