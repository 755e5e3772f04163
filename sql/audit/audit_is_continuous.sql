-- True if a change of a record began with the state that its earlier entries left, as far as the log tells. If false,
-- changes in between have no entry. Columns that only one of the images has, and ignored ones, do not count.
-- access: writer, reader, admin
create or replace function svc.audit_is_continuous(
    p_table text, p_record text, p_timestamp timestamptz, p_id bigint, p_before jsonb
) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_state constant text := svc.audit_state_before(p_table, p_record, p_timestamp, p_id);
begin
    if v_state is null then
        return true;
    elsif v_state = '' or p_before is null then
        return v_state = '' and p_before is null;
    elsif not (left(v_state, 1) = '{' and jsonb_typeof(p_before) = 'object') then
        return true;
    end if;
    return not exists (
        select from jsonb_each(v_state::jsonb) known
         where p_before ? known.key and p_before -> known.key <> known.value
    );
end
$svc$;
