-- The last event of a record before a position of the log, or from another transaction than one; see svc.audit_events.
-- access: writer, reader, admin
create or replace function svc.audit_previous_event(
    p_table text, p_record text, p_timestamp timestamptz, p_id bigint, p_other_than bigint default null,
    out "timestamp" timestamptz, out id bigint, out xact_id bigint
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_sort = off  -- the index has the order
as $svc$
begin
    select e."timestamp", e.id, e.xact_id
      into audit_previous_event."timestamp", audit_previous_event.id, audit_previous_event.xact_id
      from (
        (select l."timestamp", l.id, l.xact_id from svc.audit_logs l
          where l.table_name = p_table and l.record_id = p_record
            and l."timestamp" <= p_timestamp and (l."timestamp", l.id) < (p_timestamp, p_id)
            and (p_other_than is null or l.xact_id <> p_other_than)
          order by l."timestamp" desc, l.id desc limit 1)
        union all
        (select l."timestamp", l.id, l.xact_id from svc.audit_logs l
          where l.table_name = p_table and l.moved_from = p_record
            and l."timestamp" <= p_timestamp and (l."timestamp", l.id) < (p_timestamp, p_id)
            and (p_other_than is null or l.xact_id <> p_other_than)
          order by l."timestamp" desc, l.id desc limit 1)
      ) e
     order by e."timestamp" desc, e.id desc limit 1;
end
$svc$;
