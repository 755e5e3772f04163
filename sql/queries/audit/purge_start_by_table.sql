-- from one table to the next by the index
with recursive found (name) as (
    select min(table_name) from svc.audit_logs
    union all
    select (select min(l.table_name) from svc.audit_logs l where l.table_name > f.name)
      from found f where f.name is not null
)
select now() as now, nullif(svc.audit_unsealed_since(), 'infinity') as unsealed_since,
       array(select name from found where name is not null) as tables
