-- For each field of a record as it is now, the entry that last changed it, also if the record had another key then.
-- Without an entry, the log does not tell: it knows the field only since known_since.
-- access: writer, reader, admin
create or replace function svc.audit_blame(p_table text, p_record text)
returns table (
    field text, value jsonb, is_redacted boolean, entry_id bigint, changed_at timestamptz, operation text,
    actor_id text, db_user text, xact_id bigint, known_since timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_record text := p_record;
    v_until timestamptz := timestamptz 'infinity';
    v_until_id bigint := 9223372036854775807;
    v_state record;
    v_now jsonb;
    v_redacted text[];
    v_left text[];
    v_since jsonb := jsonb '{}'; -- of each field that is left, the time of the oldest state that has it
    v_field text;
begin
    loop
        for v_state in
            select * from svc.history(p_table, v_record, null, nullif(v_until, 'infinity')) h
             where (h.valid_from, h.place_id) < (v_until, v_until_id)
             order by h.valid_from desc, h.place_id desc
        loop
            if v_now is null then
                if v_state.after_data is null and v_state.valid_to is null then
                    raise exception 'the newest entry of record % of "%" has no values', p_record, p_table
                        using errcode = 'SV104', hint = 'Its history has the entries before.';
                elsif v_state.after_data is null or v_state.valid_to is not null then
                    raise exception 'record % of "%" is gone since %', p_record, p_table,
                        to_char(v_state.valid_to at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                        using errcode = 'SV104', hint = 'Its history tells how it ended.';
                end if;
                if v_state.redacted_fields = '{*}' and v_state.after_data = jsonb '{"erased": true}' then
                    raise exception 'what the log knew of record % of "%" is erased', p_record, p_table
                        using errcode = 'SV104';
                end if;
                v_now := v_state.after_data;
                v_redacted := coalesce(v_state.redacted_fields, '{}');
                v_left := array(select jsonb_object_keys(v_now) union select unnest(v_redacted) except select '*');
            end if;
            exit when v_state.after_data is null; -- another life
            foreach v_field in array v_left loop
                if v_state.operation in ('INSERT', 'SNAPSHOT') and v_state.before_data is null
                   and (v_state.after_data ? v_field
                        or v_field = any (coalesce(v_state.redacted_fields, '{}')))
                   or v_field = any (v_state.changed_fields) then
                    field := v_field;
                    value := case when v_field <> all (v_redacted) and '*' <> all (v_redacted)
                             then v_now -> v_field end;
                    is_redacted := v_redacted && array[v_field, '*'];
                    entry_id := v_state.entry_id;
                    changed_at := v_state.valid_from;
                    operation := v_state.operation;
                    actor_id := v_state.actor_id;
                    db_user := v_state.db_user;
                    xact_id := v_state.xact_id;
                    known_since := null;
                    return next;
                    v_left := array_remove(v_left, v_field);
                elsif v_state.after_data ? v_field then
                    v_since := v_since || jsonb_build_object(v_field, v_state.valid_from);
                end if;
            end loop;
            v_until := v_state.valid_from;
            v_until_id := v_state.place_id;
            exit when v_left = '{}' or v_state.moved_from is not null
                      or v_state.operation in ('INSERT', 'SNAPSHOT') and v_state.before_data is null;
        end loop;
        if v_now is null then
            raise exception 'the log does not know a record % of "%"', p_record, p_table using errcode = 'SV104';
        end if;
        exit when v_left = '{}' or v_state.moved_from is null or v_state.moved_from = v_record;
        v_record := v_state.moved_from;
    end loop;
    foreach v_field in array v_left loop
        field := v_field;
        value := case when v_field <> all (v_redacted) and '*' <> all (v_redacted) then v_now -> v_field end;
        is_redacted := v_redacted && array[v_field, '*'];
        entry_id := null;
        changed_at := null;
        operation := null;
        actor_id := null;
        db_user := null;
        xact_id := null;
        known_since := (v_since ->> v_field)::timestamptz;
        return next;
    end loop;
end
$svc$;
