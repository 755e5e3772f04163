-- from each name to the next, by the index that begins with it
with recursive named(name, position) as (
    select min(table_name), 1 from svc.audit_logs
    union all
    select (select min(l.table_name) from svc.audit_logs l where l.table_name > named.name), named.position + 1
      from named
     where named.name is not null and named.position < 200
)
select name from named where name is not null limit 200
