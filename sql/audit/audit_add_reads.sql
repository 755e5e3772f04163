-- Record that somebody read records: an entry of svc.audit_reads for each member of p_reads whose "table" the
-- configuration marks; its record is the table. A member has "through", "records", "keys" and "question". A key that
-- may tell of somebody is kept as its keyed hash, and no more than 1000 keys are: "more" counts the other records.
-- p_actor, p_tenant and p_context take the place of the transaction's, unless p_actor is null. Returns the number of
-- entries.
-- access: reader, admin
create or replace function svc.audit_add_reads(p_reads jsonb, p_actor text, p_tenant text, p_context text)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_own constant text[] := array[
        current_setting('svc.actor_id', true), current_setting('svc.tenant_id', true),
        current_setting('svc.context', true)];
    v_entries integer := 0;
    v_tables text[];
    v_read record;
    v_keys jsonb;
    v_records bigint;
begin
    if octet_length(p_reads::text) > 4000000 then
        raise exception 'these are too many reads for one call' using errcode = 'SV003',
            hint = 'Record fewer of them at once.';
    end if;
    v_tables := array(select f ->> 'table' from jsonb_array_elements(p_reads) f);
    if p_actor is not null then
        perform set_config('svc.actor_id', p_actor, true), set_config('svc.tenant_id', coalesce(p_tenant, ''), true),
                set_config('svc.context', coalesce(p_context, ''), true);
    end if;
    for v_read in
        select m.of_table, r.facts
          from jsonb_array_elements(p_reads) with ordinality r(facts, place)
          join svc.audit_read_tables(v_tables) m on m.table_name = r.facts ->> 'table'
         order by r.place
    loop
        if not coalesce(
            v_read.facts ->> 'through' in ('page', 'api', 'python', 'command', 'export', 'admin'), false)
        then
            raise exception 'this is no way to read records: %', left(v_read.facts ->> 'through', 100)
                using errcode = 'SV003', hint = 'Write page, api, python, command, export or admin.';
        end if;
        v_keys := (
            select jsonb_agg(svc.audit_read_key(k.key) order by k.place)
              from jsonb_array_elements_text(v_read.facts -> 'keys') with ordinality k(key, place)
             where k.place <= 1000 and k.key is not null
        );
        v_records := (v_read.facts ->> 'records')::bigint;
        perform svc.audit_add_entry(
            'svc.audit_reads', 'READ', record_id => v_read.of_table,
            after_data => jsonb_strip_nulls(jsonb_build_object(
                'through', v_read.facts -> 'through', 'records', v_records, 'keys', v_keys,
                'more', nullif(v_records - coalesce(jsonb_array_length(v_keys), 0), 0),
                'question', case when octet_length((v_read.facts -> 'question')::text) <= 4000
                                 then v_read.facts -> 'question' else jsonb '{"cut": true}' end)),
            label => 'records read',
            description => case v_records
                when 1 then format('1 record of %s was read', left(v_read.of_table, 200))
                else format(
                    '%s of %s were read', coalesce(v_records || ' records', 'Records'), left(v_read.of_table, 200))
            end);
        v_entries := v_entries + 1;
    end loop;
    if p_actor is not null then  -- the transaction goes on as it was
        perform set_config('svc.actor_id', coalesce(v_own[1], ''), true),
                set_config('svc.tenant_id', coalesce(v_own[2], ''), true),
                set_config('svc.context', coalesce(v_own[3], ''), true);
    end if;
    return v_entries;
end
$svc$;
revoke all on function svc.audit_add_reads(jsonb, text, text, text) from public;
