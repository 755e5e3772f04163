-- The columns of audited tables that are not as the last install noted them, the first of each table, in order
select r.table_name, c.name, c.what, c.before, c.number
  from svc.audit_relations r
  join pg_class k on k.oid = r.relation
  join pg_namespace s on s.oid = k.relnamespace and s.nspname || '.' || k.relname = r.name
 cross join lateral (
    select coalesce(now.name, noted.value ->> 'name') as name, noted.value ->> 'name' as before,
           case when noted.key is null then 'new'
                when now.key is null then 'gone'
                when noted.value ->> 'name' <> now.name then 'renamed'
                else 'retyped' end as what,
           coalesce(now.key, noted.key)::integer as place, pg_catalog.count(*) over () as number
      from (
        select a.attnum::text as key, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type
          from pg_attribute a where a.attrelid = r.relation and a.attnum > 0 and not a.attisdropped
      ) now
      full join (select e.key, e.value from jsonb_each(r.facts -> 'columns') e) noted on noted.key = now.key
     where noted.key is null or now.key is null or noted.value ->> 'name' <> now.name
        or noted.value ->> 'type' <> now.type
     order by place limit %(most)s
 ) c
 where not r.is_part and r.table_name = any (%(tables)s)
 order by r.table_name, c.place
