-- The tables with triggers of capture, and others that should have some
with recursive relation as (
    select c.oid, {name} as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and c.relhastriggers
),
{family}
select a.name, a.capture
  from (
    select coalesce(o.audited_table, w.name) as name,
           case when o.audited_table is null or bool_or(t.root is null) then 'missing'
                when bool_or(t.is_disabled) then 'disabled' else 'recording' end as capture
      from (
        select identity, audited_table from svc.installed_objects
         where kind = 'trigger' and identity like E'00\\_svc\\_audit\\_%%' and audited_table is not null
      ) o
      left join (
        select f.root, f.is_disabled, f.name::text || ' on ' || r.name as identity
          from fired f join relation r on r.oid = f."table"
         where f.name::text like E'00\\_svc\\_audit\\_%%'
      ) t on t.identity = o.identity
      full join pg_catalog.unnest(%s::text[]) w(name) on w.name = o.audited_table
     group by o.audited_table, w.name
  ) a
