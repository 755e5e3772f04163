-- The way of this table's entries into the log, and of no others: the capture function belongs to the table's owner,
-- who may insert here and nowhere else. Number, time, transaction and user of an entry are always the log's own.
-- access to record_*: owner to insert
create or replace view svc."record_public_customer" as
    select table_name, table_oid, operation, record_id, moved_from, actor_id, tenant_id, db_role, before_data,
           after_data, changed_fields, redacted_fields, context, label, severity, compliance, description,
           partition
      from svc.audit_logs
     where table_name = 'public.customer'
      with check option;
comment on view svc."record_public_customer" is 'Internal: the way of a table''s entries into the log.';

-- The part of a row that may be recorded. p_newer are its columns that the rules do not know: it may be that one is a
-- redacted one under another name. Has no SET, so that it can be inlined: its callers pin the search_path.
-- access to redact_*: owner, writer, admin
create or replace function svc."redact_public_customer"(p_row jsonb, p_newer jsonb) returns jsonb
language sql stable parallel safe
as $svc$
-- made by svc-pg from its configuration for public.customer; change it there
    select case
        when p_row is null then null
        when not p_row ?& array['card_number', 'password_hash']::text[] then svc.audit_mask_all(p_row)
        else
            p_row - array['password_hash']::text[]
            || pg_catalog.jsonb_build_object(
                'card_number', svc.audit_last4(p_row ->> 'card_number'))
            || case when p_newer <> '{}' then svc.audit_mask_all(p_newer) else '{}' end
    end
$svc$;
revoke all on function svc."redact_public_customer"(jsonb, jsonb) from public;

-- access to capture_*: trigger
create or replace function svc."capture_public_customer"() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set extra_float_digits = 1
set "DateStyle" = 'ISO, YMD'
set "IntervalStyle" = 'iso_8601'
set bytea_output = 'hex'
set lc_monetary = 'C'
set enable_nestloop = off  -- the plan is kept from a first statement of one row, and would be quadratic for many
set jit = off
as $svc$
-- made by svc-pg from its configuration for public.customer; change it there
declare
    v_actor text := nullif(current_setting('svc.actor_id', true), '');
    v_tenant text := nullif(current_setting('svc.tenant_id', true), '');
    v_role text := nullif(current_setting('role'), 'none');
    v_context jsonb;
    v_is_superuser constant boolean := has_table_privilege('pg_authid'::regclass, 'update');
begin
    if octet_length(v_actor) > 1000 then
        v_actor := svc.audit_bounded(v_actor);
    end if;
    if octet_length(v_tenant) > 2048 then
        v_tenant := svc.audit_bounded_tenant(v_tenant);
    end if;
    v_context := nullif(current_setting('svc.context', true), '')::jsonb;
    -- the aliases have a space, because a column of the same name would hide the row
    if tg_op = 'INSERT' then
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            label, severity, compliance, description,
            changed_fields, redacted_fields, context
        )
        select 'public.customer', tg_relid, v_operation::svc.audit_operation, v_record_id,
               v_actor, v_tenant, v_role, v_before, v_after,
               case v_rule when 0 then 'customer edited' when 1 then null when 2 then 'customer changed' end, case v_rule when 0 then 'medium'::svc.audit_severity when 1 then 'high'::svc.audit_severity when 2 then 'low'::svc.audit_severity end,
               case v_rule when 0 then array['gdpr']::text[] when 1 then null when 2 then null end, case v_rule when 0 then concat(nullif(current_setting('svc.actor_id', true), ''), ' changed email from ', v_before ->> 'email', ' to ', v_after ->> 'email') when 1 then null when 2 then null end,
               v_changed, v_redacted, v_context
          from (
            -- rules see the whole row, descriptions what may be recorded of it
            select v_operation, v_changed, case when coalesce(v_after, v_before) ?& array['card_number', 'id', 'password_hash']::text[] and coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] = '{}' then case when octet_length(coalesce(v_after, v_before) ->> 'id') > 1000 then svc.audit_bounded(coalesce(v_after, v_before) ->> 'id') else coalesce(v_after, v_before) ->> 'id' end else svc.audit_record_id(tg_relid, coalesce(v_after, v_before) - array['card_number', 'password_hash']::text[]) end as v_record_id,
                   case when coalesce(v_after, v_before) is null then null when not coalesce(v_after, v_before) ?& array['card_number', 'password_hash']::text[] then '{*}'::text[] when coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then array['card_number', 'password_hash']::text[] || svc.audit_keys(coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) else array['card_number', 'password_hash']::text[] end as v_redacted,
                   svc."redact_public_customer"(v_before, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_before, svc."redact_public_customer"(v_after, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_after,
                   case  when v_operation = 'UPDATE' and (coalesce(v_changed && array['email']::text[], false) and (not (coalesce((v_after -> 'status') in ('"test"'::jsonb, '"demo"'::jsonb), false)))) then 0 when v_operation = 'UPDATE' and (coalesce(jsonb_typeof((v_after -> 'credit')) = 'number' and (v_after -> 'credit') > '10000'::jsonb, false)) then 1 when true then 2 end as v_rule
              from (
                select 'INSERT' as v_operation, null::jsonb as v_before, case when not v_is_superuser and pg_column_size("svc new") <= 500000 then (to_jsonb(jsonb_populate_record("svc new", '{"status": null, "credit": null}')) || jsonb_strip_nulls((select to_jsonb("svc printed") from (select null::text as "status", null::text as "credit") "svc gone" cross join lateral (select case when num_nulls("status") = 0 then format('%s', "status") end as "status", case when num_nulls("credit") = 0 then format('%s', "credit")::text[] end as "credit" from (select "svc new".*) "svc present") "svc printed"))) else svc.audit_image("svc new", tg_relid) end - array['display_name']::text[] as v_after,
                       null::text[] as v_changed
                  from new_rows "svc new"
                offset 0
            ) change
            offset 0
          ) entry;
    elsif tg_op = 'UPDATE' then
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            label, severity, compliance, description,
            changed_fields, redacted_fields, context
        )
        select 'public.customer', tg_relid, v_operation::svc.audit_operation, v_record_id,
               v_actor, v_tenant, v_role, v_before, v_after,
               case v_rule when 0 then 'customer edited' when 1 then null when 2 then 'customer changed' end, case v_rule when 0 then 'medium'::svc.audit_severity when 1 then 'high'::svc.audit_severity when 2 then 'low'::svc.audit_severity end,
               case v_rule when 0 then array['gdpr']::text[] when 1 then null when 2 then null end, case v_rule when 0 then concat(nullif(current_setting('svc.actor_id', true), ''), ' changed email from ', v_before ->> 'email', ' to ', v_after ->> 'email') when 1 then null when 2 then null end,
               v_changed, v_redacted, v_context
          from (
            -- rules see the whole row, descriptions what may be recorded of it
            select v_operation, v_changed, case when coalesce(v_after, v_before) ?& array['card_number', 'id', 'password_hash']::text[] and coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] = '{}' then case when octet_length(coalesce(v_after, v_before) ->> 'id') > 1000 then svc.audit_bounded(coalesce(v_after, v_before) ->> 'id') else coalesce(v_after, v_before) ->> 'id' end else svc.audit_record_id(tg_relid, coalesce(v_after, v_before) - array['card_number', 'password_hash']::text[]) end as v_record_id,
                   case when coalesce(v_after, v_before) is null then null when not coalesce(v_after, v_before) ?& array['card_number', 'password_hash']::text[] then '{*}'::text[] when coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then array['card_number', 'password_hash']::text[] || svc.audit_keys(coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) else array['card_number', 'password_hash']::text[] end as v_redacted,
                   svc."redact_public_customer"(v_before, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_before, svc."redact_public_customer"(v_after, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_after,
                   case  when v_operation = 'UPDATE' and (coalesce(v_changed && array['email']::text[], false) and (not (coalesce((v_after -> 'status') in ('"test"'::jsonb, '"demo"'::jsonb), false)))) then 0 when v_operation = 'UPDATE' and (coalesce(jsonb_typeof((v_after -> 'credit')) = 'number' and (v_after -> 'credit') > '10000'::jsonb, false)) then 1 when true then 2 end as v_rule
              from (
                -- rows are paired by their key; one that moved to another key is a DELETE and an INSERT
                select case when v_before is null then 'INSERT'
                            when v_after is null then 'DELETE'
                            else 'UPDATE' end as v_operation,
                       v_before, v_after,
                       case when v_before is not null and v_after is not null then
                           array_remove(array[
                               case when v_before ->> 'card_number'
                                   is distinct from v_after ->> 'card_number' then 'card_number' end,
                               case when v_before ->> 'credit'
                                   is distinct from v_after ->> 'credit' then 'credit' end,
                               case when v_before ->> 'email'
                                   is distinct from v_after ->> 'email' then 'email' end,
                               case when v_before ->> 'id'
                                   is distinct from v_after ->> 'id' then 'id' end,
                               case when v_before ->> 'name'
                                   is distinct from v_after ->> 'name' then 'name' end,
                               case when v_before ->> 'password_hash'
                                   is distinct from v_after ->> 'password_hash' then 'password_hash' end,
                               case when v_before ->> 'status'
                                   is distinct from v_after ->> 'status' then 'status' end,
                               case when v_before -> 'settings'
                                   is distinct from v_after -> 'settings' then 'settings' end,
                               null
                           ]::text[], null)
                           -- columns that are newer than this function
                           || case when v_after - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then svc.audit_changed(
                               v_before - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[],
                               v_after - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]
                           ) end
                       end as v_changed
                  from (
                    select "svc old" as row, case when not v_is_superuser and pg_column_size("svc old") <= 500000 then (to_jsonb(jsonb_populate_record("svc old", '{"status": null, "credit": null}')) || jsonb_strip_nulls((select to_jsonb("svc printed") from (select null::text as "status", null::text as "credit") "svc gone" cross join lateral (select case when num_nulls("status") = 0 then format('%s', "status") end as "status", case when num_nulls("credit") = 0 then format('%s', "credit")::text[] end as "credit" from (select "svc old".*) "svc present") "svc printed"))) else svc.audit_image("svc old", tg_relid) end - array['display_name']::text[] as v_before from old_rows "svc old" offset 0
                  ) o
                  full join (
                    select "svc new" as row, case when not v_is_superuser and pg_column_size("svc new") <= 500000 then (to_jsonb(jsonb_populate_record("svc new", '{"status": null, "credit": null}')) || jsonb_strip_nulls((select to_jsonb("svc printed") from (select null::text as "status", null::text as "credit") "svc gone" cross join lateral (select case when num_nulls("status") = 0 then format('%s', "status") end as "status", case when num_nulls("credit") = 0 then format('%s', "credit")::text[] end as "credit" from (select "svc new".*) "svc present") "svc printed"))) else svc.audit_image("svc new", tg_relid) end - array['display_name']::text[] as v_after from new_rows "svc new" offset 0
                  ) n on v_before -> 'id' = v_after -> 'id'
                 -- strict, so null if a side is missing
                 where (o.row operator(pg_catalog.*<>) n.row) is not false
                offset 0
            ) change
            offset 0
          ) entry;
    elsif tg_op = 'DELETE' then
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            label, severity, compliance, description,
            changed_fields, redacted_fields, context
        )
        select 'public.customer', tg_relid, v_operation::svc.audit_operation, v_record_id,
               v_actor, v_tenant, v_role, v_before, v_after,
               case v_rule when 0 then 'customer edited' when 1 then null when 2 then 'customer changed' end, case v_rule when 0 then 'medium'::svc.audit_severity when 1 then 'high'::svc.audit_severity when 2 then 'low'::svc.audit_severity end,
               case v_rule when 0 then array['gdpr']::text[] when 1 then null when 2 then null end, case v_rule when 0 then concat(nullif(current_setting('svc.actor_id', true), ''), ' changed email from ', v_before ->> 'email', ' to ', v_after ->> 'email') when 1 then null when 2 then null end,
               v_changed, v_redacted, v_context
          from (
            -- rules see the whole row, descriptions what may be recorded of it
            select v_operation, v_changed, case when coalesce(v_after, v_before) ?& array['card_number', 'id', 'password_hash']::text[] and coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] = '{}' then case when octet_length(coalesce(v_after, v_before) ->> 'id') > 1000 then svc.audit_bounded(coalesce(v_after, v_before) ->> 'id') else coalesce(v_after, v_before) ->> 'id' end else svc.audit_record_id(tg_relid, coalesce(v_after, v_before) - array['card_number', 'password_hash']::text[]) end as v_record_id,
                   case when coalesce(v_after, v_before) is null then null when not coalesce(v_after, v_before) ?& array['card_number', 'password_hash']::text[] then '{*}'::text[] when coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then array['card_number', 'password_hash']::text[] || svc.audit_keys(coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) else array['card_number', 'password_hash']::text[] end as v_redacted,
                   svc."redact_public_customer"(v_before, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_before, svc."redact_public_customer"(v_after, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_after,
                   case  when v_operation = 'UPDATE' and (coalesce(v_changed && array['email']::text[], false) and (not (coalesce((v_after -> 'status') in ('"test"'::jsonb, '"demo"'::jsonb), false)))) then 0 when v_operation = 'UPDATE' and (coalesce(jsonb_typeof((v_after -> 'credit')) = 'number' and (v_after -> 'credit') > '10000'::jsonb, false)) then 1 when true then 2 end as v_rule
              from (
                select 'DELETE' as v_operation, case when not v_is_superuser and pg_column_size("svc old") <= 500000 then (to_jsonb(jsonb_populate_record("svc old", '{"status": null, "credit": null}')) || jsonb_strip_nulls((select to_jsonb("svc printed") from (select null::text as "status", null::text as "credit") "svc gone" cross join lateral (select case when num_nulls("status") = 0 then format('%s', "status") end as "status", case when num_nulls("credit") = 0 then format('%s', "credit")::text[] end as "credit" from (select "svc old".*) "svc present") "svc printed"))) else svc.audit_image("svc old", tg_relid) end - array['display_name']::text[] as v_before, null::jsonb as v_after,
                       null::text[] as v_changed
                  from old_rows "svc old"
                offset 0
            ) change
            offset 0
          ) entry;
    elsif tg_op = 'TRUNCATE' then
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            label, severity, compliance, description,
            changed_fields, redacted_fields, context
        )
        select 'public.customer', tg_relid, v_operation::svc.audit_operation, v_record_id,
               v_actor, v_tenant, v_role, v_before, v_after,
               case v_rule when 0 then 'customer edited' when 1 then null when 2 then 'customer changed' end, case v_rule when 0 then 'medium'::svc.audit_severity when 1 then 'high'::svc.audit_severity when 2 then 'low'::svc.audit_severity end,
               case v_rule when 0 then array['gdpr']::text[] when 1 then null when 2 then null end, case v_rule when 0 then concat(nullif(current_setting('svc.actor_id', true), ''), ' changed email from ', v_before ->> 'email', ' to ', v_after ->> 'email') when 1 then null when 2 then null end,
               v_changed, v_redacted, v_context
          from (
            -- rules see the whole row, descriptions what may be recorded of it
            select v_operation, v_changed, case when coalesce(v_after, v_before) ?& array['card_number', 'id', 'password_hash']::text[] and coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] = '{}' then case when octet_length(coalesce(v_after, v_before) ->> 'id') > 1000 then svc.audit_bounded(coalesce(v_after, v_before) ->> 'id') else coalesce(v_after, v_before) ->> 'id' end else svc.audit_record_id(tg_relid, coalesce(v_after, v_before) - array['card_number', 'password_hash']::text[]) end as v_record_id,
                   case when coalesce(v_after, v_before) is null then null when not coalesce(v_after, v_before) ?& array['card_number', 'password_hash']::text[] then '{*}'::text[] when coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then array['card_number', 'password_hash']::text[] || svc.audit_keys(coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) else array['card_number', 'password_hash']::text[] end as v_redacted,
                   svc."redact_public_customer"(v_before, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_before, svc."redact_public_customer"(v_after, coalesce(v_after, v_before) - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]) as v_after,
                   case  when v_operation = 'UPDATE' and (coalesce(v_changed && array['email']::text[], false) and (not (coalesce((v_after -> 'status') in ('"test"'::jsonb, '"demo"'::jsonb), false)))) then 0 when v_operation = 'UPDATE' and (coalesce(jsonb_typeof((v_after -> 'credit')) = 'number' and (v_after -> 'credit') > '10000'::jsonb, false)) then 1 when true then 2 end as v_rule
              from (
                select 'TRUNCATE' as v_operation, null::jsonb as v_before, null::jsonb as v_after,
                       null::text[] as v_changed
                offset 0
            ) change
            offset 0
          ) entry;
    end if;
    return null;
end
$svc$;
revoke all on function svc."capture_public_customer"() from public;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"public"."customer"'::regclass
           and tgname = '00_svc_audit_insert'
    ) then
        drop trigger "00_svc_audit_insert" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_audit_insert"
    after insert on "public"."customer" referencing new table as new_rows for each statement
    execute function svc."capture_public_customer"()';
end
$svc$;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"public"."customer"'::regclass
           and tgname = '00_svc_audit_update'
    ) then
        drop trigger "00_svc_audit_update" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_audit_update"
    after update on "public"."customer" referencing old table as old_rows new table as new_rows for each statement
    execute function svc."capture_public_customer"()';
end
$svc$;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"public"."customer"'::regclass
           and tgname = '00_svc_audit_delete'
    ) then
        drop trigger "00_svc_audit_delete" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_audit_delete"
    after delete on "public"."customer" referencing old table as old_rows for each statement
    execute function svc."capture_public_customer"()';
end
$svc$;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"public"."customer"'::regclass
           and tgname = '00_svc_audit_truncate'
    ) then
        drop trigger "00_svc_audit_truncate" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_audit_truncate"
    after truncate on "public"."customer" for each statement
    execute function svc."capture_public_customer"()';
end
$svc$;

-- Compare the rows in some pages of a table or partition with the last state of their records in the log: report those
-- that the log does not know, or knows otherwise; only look if there is one; or write a SNAPSHOT entry for each. One
-- statement, whose snapshot sees a change and its entry, or neither.
with written as (
insert into svc.audit_logs (
    table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
    changed_fields, redacted_fields, label, context, partition
)
select 'public.customer', compared.v_leaf, 'SNAPSHOT', compared.v_record_id,
       -- a backfill records what was there before; that something differs is nobody's act
       case when kind.kind = 'unrecorded' then
           svc.audit_bounded(nullif(current_setting('svc.actor_id', true), '')) end,
       case when kind.kind = 'unrecorded' then
           svc.audit_bounded_tenant(nullif(current_setting('svc.tenant_id', true), '')) end,
       nullif(current_setting('role'), 'none'),
       known.state - array(select unnest(array['card_number', 'password_hash']::text[]) except select unnest(known.redacted_fields)),
       compared.v_recorded, difference.fields,
       compared.v_redacted,
       case when kind.kind <> 'unrecorded' then 'found by backfill' end,
       case when kind.kind = 'unrecorded' then nullif(current_setting('svc.context', true), '')::jsonb
            else jsonb_build_object('found', kind.kind) end,
       null
  from (
    select row.*, case when last.id is not null then row.v_record_id end as v_known_id,
           last.id is null or last.operation in ('DELETE', 'GONE')
           or last.after_data is distinct from row.v_recorded
              and (last.after_data is null or svc.audit_differing(
                  last.after_data, last.redacted_fields, row.v_recorded, row.v_redacted, array[]::text[]
              ) <> '{}')
           -- most tables have neither: that is asked once
           or (select exists (
                select from svc.audit_logs m
                 where m.table_name = 'public.customer' and m.moved_from is not null
              )) and exists (
                select from svc.audit_logs m
                 where m.table_name = 'public.customer' and m.moved_from >= row.v_record_id
                   and m.moved_from <= row.v_record_id
                   and (m."timestamp", m.id) > (last."timestamp", last.id)
                   and m."timestamp" >= last."timestamp"  -- which leaves older partitions out
              )
           or coalesce(last."timestamp" <= (
                select max(t."timestamp") from svc.audit_logs t
                 where t.table_name = 'public.customer' and t.record_id is null and t.operation = 'TRUNCATE'
              ), false) as v_is_suspect
      from (
        select v_leaf, case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end as v_record_id, v_after - array['password_hash']::text[]
            || pg_catalog.jsonb_build_object(
                'card_number', svc.audit_last4(v_after ->> 'card_number')) as v_recorded,
               array['card_number', 'password_hash']::text[] as v_redacted
          from (
            select "svc row".tableoid as v_leaf, null::jsonb as v_before, (select svc.audit_image("svc listed", '"public"."customer"'::regclass, true) from (select "svc row"."id" as "id", "svc row"."name" as "name", "svc row"."email" as "email", "svc row"."password_hash" as "password_hash", "svc row"."card_number" as "card_number", case when num_nulls("svc row"."status") = 0 then format('%s', "svc row"."status") end as "status", case when num_nulls("svc row"."credit") = 0 then format('%s', "svc row"."credit")::text[] end as "credit", "svc row"."settings" as "settings") "svc listed") - array['display_name']::text[] as v_after
              from only "public"."customer" "svc row"
             where "svc row".ctid >= '(0,0)'::tid and "svc row".ctid < '(64,0)'::tid
            offset 0
          ) image
        offset 0
      ) row
      left join lateral (
            select s.*
              from (
            (
            select o.*
              from (
                select e.*
                  from (
                    select l.operation, l.after_data, l.redacted_fields, l.xact_id, l."timestamp", l.id
                      from svc.audit_logs l
                     where l.table_name = 'public.customer' and l.record_id >= "row"."v_record_id"
                       and l.record_id <= "row"."v_record_id"
                       and l."timestamp" >= '2026-12-01T00:00:00+00:00'
                     order by l.record_id desc, l."timestamp" desc
                     fetch first 1 rows with ties
                  ) e
                 order by e."timestamp" desc, e.id desc limit 1
              ) o
             where (
                select true from svc.audit_logs t
                 where t.table_name = 'public.customer' and t.record_id >= ''
                   and t."timestamp" >= '2026-12-01T00:00:00+00:00'
                 order by t.record_id, t."timestamp" limit 1
               )
            )
            union all
            (
            select o.*
              from (
                select e.*
                  from (
                    select l.operation, l.after_data, l.redacted_fields, l.xact_id, l."timestamp", l.id
                      from svc.audit_logs l
                     where l.table_name = 'public.customer' and l.record_id >= "row"."v_record_id"
                       and l.record_id <= "row"."v_record_id"
                       and l."timestamp" < '2026-12-01T00:00:00+00:00'
                     order by l.record_id desc, l."timestamp" desc
                     fetch first 1 rows with ties
                  ) e
                 order by e."timestamp" desc, e.id desc limit 1
              ) o
             where (
                select true from svc.audit_logs t
                 where t.table_name = 'public.customer' and t.record_id >= ''
                   and t."timestamp" < '2026-12-01T00:00:00+00:00'
                 order by t.record_id, t."timestamp" limit 1
               )
            )
              ) s
             limit 1
      ) last on true
    offset 0
  ) compared
  left join lateral svc.audit_last_known(
    'public.customer', case when compared.v_is_suspect then compared.v_known_id end
  ) known on true
 cross join lateral (
    select case when known.state is not null then svc.audit_differing(
               known.state, known.redacted_fields, compared.v_recorded, compared.v_redacted, array[]::text[]
           ) end as fields
    offset 0
 ) difference
 cross join lateral (
    select case when not compared.v_is_suspect then null
                when compared.v_record_id is null then 'unkeyed'
                when known.state is not null then
                    case when difference.fields <> '{}' then 'differs' end
                when compared.v_known_id is not null then 'missing'
                -- an erasure leaves the hash of a key that may tell who it was
                when svc.audit_anonymous_key(compared.v_record_id) is null and exists (
                    select from svc.audit_logs e
                     where e.table_name = 'public.customer'
                       and e.record_id = svc.audit_erased_key(compared.v_record_id)
                ) then 'erased'
                else 'unrecorded' end as kind
    offset 0
 ) kind
 where kind.kind not in ('erased', 'unkeyed')
returning 1
)
select count(*) as entries from written

-- Look among the next records of a table in the log for those that the log knows and the table lacks: report them,
-- only tell if there is one, or write a GONE entry for each, with the last image. One statement, as in compare.sql.j2.
with record as (
    select distinct l.record_id from svc.audit_logs l
     where l.table_name = 'public.customer'
       and l.record_id >= '' and l.record_id <= 'z'
     order by l.record_id
),
gone as (
    select r.record_id from record r
     where not exists (
        select
          from (
            select case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end as v_record_id
              from (
                select (select svc.audit_image("svc listed", '"public"."customer"'::regclass, true) from (select "svc row"."id" as "id", "svc row"."name" as "name", "svc row"."email" as "email", "svc row"."password_hash" as "password_hash", "svc row"."card_number" as "card_number", case when num_nulls("svc row"."status") = 0 then format('%s', "svc row"."status") end as "status", case when num_nulls("svc row"."credit") = 0 then format('%s', "svc row"."credit")::text[] end as "credit", "svc row"."settings" as "settings") "svc listed") - array['display_name']::text[] as v_after
                  from only "public"."customer" "svc row" offset 0
              ) image
            offset 0
          ) row
         where row.v_record_id = r.record_id
       )
       and r.record_id !~ '^erased:[0-9a-f]{64}$'  -- nothing tells whose key that was
    offset 0
),
-- a DELETE or GONE that is the newest entry, and alone in its transaction, is the end
open as (
    select g.record_id, last.at
      from gone g
     cross join lateral (
        select array_agg(l.operation in ('DELETE', 'GONE')) as is_end, array_agg(l.xact_id) as transactions,
               max(l."timestamp") as at
          from (
            select t.*
              from (
            select s.*
              from (
            (
            select o.*
              from (
                select e.*
                  from (
                    select l.operation, l.after_data, l.redacted_fields, l.xact_id, l."timestamp", l.id
                      from svc.audit_logs l
                     where l.table_name = 'public.customer' and l.record_id >= "g"."record_id"
                       and l.record_id <= "g"."record_id"
                       and l."timestamp" >= '2026-12-01T00:00:00+00:00'
                     order by l.record_id desc, l."timestamp" desc
                     fetch first 2 rows with ties
                  ) e
                 order by e."timestamp" desc, e.id desc limit 2
              ) o
             where (
                select true from svc.audit_logs t
                 where t.table_name = 'public.customer' and t.record_id >= ''
                   and t."timestamp" >= '2026-12-01T00:00:00+00:00'
                 order by t.record_id, t."timestamp" limit 1
               )
            )
            union all
            (
            select o.*
              from (
                select e.*
                  from (
                    select l.operation, l.after_data, l.redacted_fields, l.xact_id, l."timestamp", l.id
                      from svc.audit_logs l
                     where l.table_name = 'public.customer' and l.record_id >= "g"."record_id"
                       and l.record_id <= "g"."record_id"
                       and l."timestamp" < '2026-12-01T00:00:00+00:00'
                     order by l.record_id desc, l."timestamp" desc
                     fetch first 2 rows with ties
                  ) e
                 order by e."timestamp" desc, e.id desc limit 2
              ) o
             where (
                select true from svc.audit_logs t
                 where t.table_name = 'public.customer' and t.record_id >= ''
                   and t."timestamp" < '2026-12-01T00:00:00+00:00'
                 order by t.record_id, t."timestamp" limit 1
               )
            )
              ) s
             limit 2
              ) t
             order by t."timestamp" desc, t.id desc
          ) l
     ) last
     where not (last.is_end[1] and last.transactions[1] is distinct from last.transactions[2])
    offset 0
),
ended as (
    select o.record_id, known.*,
false as is_unknown
      from open o cross join lateral svc.audit_last_known('public.customer', o.record_id) known
     where known.state is not null and known.leaf <> 0
)
, written as (
    insert into svc.audit_logs (
        table_name, table_oid, operation, record_id, db_role, before_data, redacted_fields, label, context, partition
    )
    select 'public.customer', known.leaf, 'GONE', known.record_id, nullif(current_setting('role'), 'none'),
           known.state - array(select unnest(array['card_number', 'password_hash']::text[]) except select unnest(known.redacted_fields)),
           array(select unnest(known.redacted_fields) union select unnest(array['card_number', 'password_hash']::text[]) order by 1),
           'found by backfill', '{"found": "gone"}', known.partition
      from ended known
    returning 1
)
select count(*) as entries from written
