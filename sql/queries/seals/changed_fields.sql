-- %b, because psycopg writes bytes in a list as a text that depends on standard_conforming_strings
with forged (id, digest, entry) as (
    select f.id, f.digest, l
      from rows from (pg_catalog.unnest(%s::bigint[]), pg_catalog.unnest(%b::bytea[])) f(id, digest)
      join svc.audit_logs l on l.id = f.id
)
select distinct on (f.id) f.id, c.field, c.value as sealed,
       coalesce(pg_catalog.to_jsonb(f.entry) -> c.field, 'null') as present
  from forged f
 cross join lateral (
    select v.field, v.value
      from (
        (select n from svc.audit_logs n where n.id between f.id - 50 and f.id + 50)
        union all
        (select n from svc.audit_logs n
          where n.table_name = (f.entry).table_name and n.record_id = (f.entry).record_id
          order by n."timestamp" desc limit 50)
      ) near (entry)
     cross join lateral (
        select j.key, j.value from jsonb_each(pg_catalog.to_jsonb(near.entry)) j
        union all
        select 'before_data', (near.entry).after_data
        union all
        select 'after_data', (near.entry).before_data
     ) v(field, value)
    union
    select j.key, 'null' from jsonb_each(pg_catalog.to_jsonb(f.entry)) j
 ) c
 cross join lateral pg_catalog.jsonb_populate_record(f.entry, pg_catalog.jsonb_build_object(c.field, c.value)) l
 where c.field not in ('id', 'timestamp', 'erased_leaf')
   and {digest} = f.digest
 order by f.id
