-- The entry at a place of a record's history (see svc.audit_history), and until when the state that it left was there:
-- until the next one, a TRUNCATE, or at once if the entry ended the record. Null is until now.
-- access: writer, reader, admin
create or replace function svc.audit_period(
    p_table text, p_record text, p_timestamp timestamptz, p_id bigint, p_xact_id bigint,
    out entry_id bigint, out entry_timestamp timestamptz, out valid_to timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
declare
    v_next record;
    v_is_end boolean;
begin
    select * into v_next from svc.audit_next_event(p_table, p_record, p_timestamp, p_id);
    if v_next.xact_id = p_xact_id or p_xact_id = (
        select e.xact_id from svc.audit_previous_event(p_table, p_record, p_timestamp, p_id) e
    ) then
        select h.entry_id, h.entry_timestamp into audit_period.entry_id, audit_period.entry_timestamp
          from svc.audit_history(p_table, p_record, p_timestamp, p_timestamp) h
         where h.place_timestamp = p_timestamp and h.place_id = p_id;
    else
        entry_id := p_id;
        entry_timestamp := p_timestamp;
    end if;
    select l.operation in ('DELETE', 'GONE') or l.record_id is distinct from p_record into v_is_end
      from svc.audit_logs l where l."timestamp" = audit_period.entry_timestamp and l.id = audit_period.entry_id;
    valid_to := case when v_is_end then p_timestamp
                else least(v_next."timestamp", svc.audit_truncated(p_table, p_timestamp, p_id)) end;
end
$svc$;
