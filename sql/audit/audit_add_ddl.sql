-- Write an entry about DDL: the tag of the statement, never its text, and what differs between two forms of the table,
-- at most 50 parts of at most 300 characters a side. Nothing that the session sets can make it fail.
-- access: trigger
create or replace function svc.audit_add_ddl(
    p_table text, p_relation oid, p_partition text, p_tag text, p_before jsonb, p_after jsonb, p_note text
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 50;
    v_told constant integer := 5;
    v_context jsonb;
    v_changed record;
begin
    begin
        v_context := nullif(current_setting('svc.context', true), '')::jsonb;
    exception when others then
        v_context := null;
    end;
    select jsonb_object_agg(d.part, left(d.before, 300))
               filter (where d.before is not null and d.n <= v_most) as before,
           nullif(coalesce(jsonb_object_agg(d.part, left(d.after, 300))
                           filter (where d.after is not null and d.n <= v_most), '{}')
                  || case when count(*) <= v_most then '{}'
                          else jsonb_build_object('more', (count(*) - v_most)::text) end, '{}') as after,
           array_agg(d.part order by d.n) filter (where d.n <= v_most) as parts,
           string_agg(case when d.before is null then d.part || ' is new: ' || d.after
                           when d.after is null then d.part || ' is gone'
                           else d.part || ': ' || d.before || ' to ' || d.after end, '; ' order by d.n)
               filter (where d.n <= v_told)
               || case when count(*) > v_told then format('; and %s more', count(*) - v_told) else '' end as words,
           bool_or(d.part = 'capture' or d.is_ours and coalesce(d.after, '') not in ('enabled', 'always'))
               as is_silenced
      into v_changed
      from (select f.*, row_number() over () as n from svc.audit_shape_differences(p_before, p_after) f) d;
    insert into svc.audit_logs (
        table_name, table_oid, operation, actor_id, tenant_id, db_role, before_data, after_data, changed_fields,
        context, label, severity, description, partition
    ) values (
        p_table, p_relation, 'DDL',
        svc.audit_bounded(nullif(current_setting('svc.actor_id', true), '')),
        svc.audit_bounded_tenant(nullif(current_setting('svc.tenant_id', true), '')),
        nullif(current_setting('role'), 'none'), v_changed.before, v_changed.after, v_changed.parts,
        v_context, p_tag,
        case when v_changed.is_silenced or p_tag ^@ 'DROP ' then 'high' end::svc.audit_severity,
        left(concat_ws('; ', p_note, v_changed.words), 1000), p_partition
    );
end
$svc$;
revoke all on function svc.audit_add_ddl(text, oid, text, text, jsonb, jsonb, text) from public;
