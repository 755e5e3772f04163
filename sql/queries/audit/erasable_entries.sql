-- An aggregate, so that there is always one row
with found as materialized (select * from svc.audit_erasable(%(table)s, %(key)s)),
refused as materialized (
    select svc.audit_refuse_held(%(table)s, %(key)s, pg_catalog.array_agg(f.entry_id),
                                 pg_catalog.array_agg(f.entry_timestamp), pg_catalog.array_agg(f.known_as))
      from found f where not f.is_erased
)
select coalesce(pg_catalog.jsonb_object_agg(e.table_name, e.entries) filter (where e.entries > 0), '{}') as tables,
       coalesce(sum(e.known), 0)::bigint as known
  from refused
  left join (
    select table_name, count(*) as known, count(*) filter (where not is_erased) as entries
      from found group by table_name
  ) e on true
