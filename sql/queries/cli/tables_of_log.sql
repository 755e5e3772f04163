-- The tables that have entries, by one look into the index of records for each; for whoever may only read the log
with recursive known (name) as (
    (select l.table_name from svc.audit_logs l order by l.table_name limit 1)
    union all
    select (select l.table_name from svc.audit_logs l where l.table_name > k.name order by l.table_name limit 1)
      from known k where k.name is not null
)
select coalesce(pg_catalog.array_agg(t.name), '{}') as tables
  from (select k.name::text from known k where strpos(k.name, '.') > 0 and not k.name ^@ 'svc.' limit %s) t
