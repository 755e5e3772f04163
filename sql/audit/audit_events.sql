-- The events of one record: its own entries, and those of records that took its row over with another key. Before
-- and after are its images, null for absence. Has no SET, so that it can be inlined: its callers pin the search_path.
-- access: writer, reader, admin
create or replace function svc.audit_events(p_table text, p_record text)
returns table (id bigint, "timestamp" timestamptz, xact_id bigint, before_data jsonb, after_data jsonb)
language sql stable rows 100
as $svc$
    select l.id, l."timestamp", l.xact_id,
           case when l.operation <> 'INSERT' and l.moved_from is null then l.before_data end,
           case when l.operation <> 'DELETE' then l.after_data end
      from svc.audit_logs l
     where l.table_name = p_table and l.record_id = p_record
    union all
    select l.id, l."timestamp", l.xact_id, l.before_data, null
      from svc.audit_logs l
     where l.table_name = p_table and l.moved_from = p_record
$svc$;
