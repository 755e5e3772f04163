-- The time of the first TRUNCATE that emptied a table after a position of the log; of a partition, if it held the row
-- of the entry there.
-- access: writer, reader, admin
create or replace function svc.audit_truncated(p_table text, p_timestamp timestamptz, p_id bigint)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
begin
    return (
        select min(t."timestamp")
          from (
            -- first all of them, which are few: from the order of time the planner would read all of the log
            select l."timestamp", l.id, l.table_oid, l.partition from svc.audit_logs l
             where l.table_name = p_table and l.record_id is null and l.operation = 'TRUNCATE'
               and l."timestamp" >= p_timestamp
            offset 0
          ) t
         where (t."timestamp", t.id) > (p_timestamp, p_id)
           and (t.partition is null
                    and not exists (select from pg_class c where c.oid = t.table_oid and c.relispartition)
                or exists (
                    select from svc.audit_logs l
                     where l."timestamp" = p_timestamp and l.id = p_id
                       and (l.table_oid = t.table_oid or l.partition = t.partition)
                ))
    );
end
$svc$;
