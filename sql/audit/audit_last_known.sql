-- The last state of a record as the log knows it, with the place of its row then; without a state if the record ended,
-- or if there was none.
-- access: writer, admin
create or replace function svc.audit_last_known(
    p_table text, p_record text, out state jsonb, out redacted_fields text[], out leaf oid, out partition text
)
language plpgsql stable strict
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan  -- to plan for the months of each call costs more than the call
as $svc$
declare
    v_last record;
    v_state text;
begin
    select e.* into v_last
      from (
        (select l."timestamp", l.id, l.table_oid, l.partition, l.redacted_fields,
                case when l.operation <> 'DELETE' then l.after_data end as image
           from svc.audit_logs l
          where l.table_name = p_table and l.record_id = p_record
          order by l."timestamp" desc, l.id desc limit 1)
        union all
        (select l."timestamp", l.id, l.table_oid, l.partition, l.redacted_fields, null
           from svc.audit_logs l
          where l.table_name = p_table and l.moved_from = p_record
          order by l."timestamp" desc, l.id desc limit 1)
      ) e
     order by e."timestamp" desc, e.id desc limit 1;
    v_state := svc.audit_state_before(p_table, p_record, 'infinity', 9223372036854775807);
    redacted_fields := v_last.redacted_fields;
    leaf := v_last.table_oid;
    partition := v_last.partition;
    if v_state <> '' and v_state is distinct from svc.audit_without_ignored(v_last.image::text, coalesce((
           select o.ignored from svc.audit_omissions o where o.table_name = p_table
       ), '{}')) then
        state := v_state::jsonb;
    elsif v_state is distinct from '' then  -- the whole image, also if the images do not tell
        state := v_last.image;
    end if;
end
$svc$;
revoke all on function svc.audit_last_known(text, text) from public;
