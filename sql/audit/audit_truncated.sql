-- The time of the first TRUNCATE that emptied a table after a position of the log; of a partition, if it held the row
-- of the entry there.
create or replace function svc.audit_truncated(p_table text, p_timestamp timestamptz, p_id bigint)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- the index has the order
as $svc$
begin
    return (
        select t."timestamp" from svc.audit_logs t
         where t.table_name = p_table and t.record_id is null and t.operation = 'TRUNCATE'
           and t."timestamp" >= p_timestamp and (t."timestamp", t.id) > (p_timestamp, p_id)
           and (not exists (select from pg_class c where c.oid = t.table_oid and c.relispartition)
                or t.table_oid = (
                    select l.table_oid from svc.audit_logs l where l."timestamp" = p_timestamp and l.id = p_id
                ))
         order by t."timestamp", t.id limit 1
    );
end
$svc$;
