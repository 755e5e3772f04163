-- Send events of one table. The function of the triggers, which calls it, belongs to the table's owner, who may send
-- these events and no others.
-- access to send_changes_*: owner, admin
create or replace function svc."send_changes_public_customer"(
    event text, payloads json[], tenants text[], keys text[] default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
-- made by svc-pg from its configuration for public.customer; change it there
begin
    if event is null or event <> all (array['customer.changed']::text[]) then
        raise exception 'event "%" is not sent for changes of "%"', event, 'public.customer'
            using errcode = 'insufficient_privilege';
    end if;
    perform svc.send_many(event, payloads, tenants => tenants, keys => keys);
end
$svc$;
revoke all on function svc."send_changes_public_customer"(text, json[], text[], text[]) from public;

-- access to change_events_*: trigger
create or replace function svc."change_events_public_customer"() returns trigger
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
#variable_conflict use_column
declare
    v_payload json;
    v_payloads json[] := '{}'::json[];
    v_tenant text;
    v_tenants text[] := '{}'::text[];
    v_key text;
    v_keys text[] := '{}'::text[];
    v_is_one boolean;
begin
    if has_table_privilege('pg_authid'::regclass, 'update') then
        perform svc.audit_refuse_superuser('public.customer');  -- conditions may call functions of anybody
    end if;
    if tg_op = 'INSERT' then
        for v_payload, v_key, v_tenant in
            select case when octet_length(payload::text) <= 262144 then payload else thin end,
                   case when octet_length(key) <= 255 then nullif(key, '')
                        else 'sha256:' || encode(sha256(convert_to(key, 'UTF8')), 'hex') end,
                   tenant
              from (
                select svc.webhook_row(case when exists (
                           select from pg_attribute a
                            where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
                              and a.atttypid >= 16384 and a.attname::text <> all (array[]::text[])
                       ) and exists (
                           select from svc.audit_columns(tg_relid) c where c.type is null and c.name <> all (array[]::text[])
                       ) then to_json(svc.audit_image(after.*, tg_relid)) else row_to_json(after.*) end, array['id', 'name', 'email', 'status', 'credit', 'settings']::text[], array['card_number', 'password_hash']::text[]) as payload,
                       (select row_to_json(payload.*) from (select after."id" as "id", true as truncated) as payload) as thin,
                       'customer:' || after."id"::text as key,
                       case when octet_length(after."name"::text) <= 1024 then after."name"::text
                            else 'sha256:' || encode(sha256(convert_to(after."name"::text, 'UTF8')), 'hex') end as tenant
                  from new_rows as after left join new_rows as before on false
                offset 0  -- so that each payload is made once
              ) change
             order by coalesce(tenant, ''), key  -- as svc.send_many locks them, across its calls too
        loop
            v_payloads := v_payloads || v_payload;
            v_tenants := v_tenants || v_tenant;
            v_keys := v_keys || v_key;
            if cardinality(v_payloads) = 1000 then  -- so that no array grows with the statement
                perform svc."send_changes_public_customer"(
                    'customer.changed', v_payloads, v_tenants, v_keys
                );
                v_payloads := '{}'::json[];
                v_tenants := '{}'::text[];
                v_keys := '{}'::text[];
            end if;
        end loop;
        if cardinality(v_payloads) > 0 then
            perform svc."send_changes_public_customer"(
                'customer.changed', v_payloads, v_tenants, v_keys
            );
            v_payloads := '{}'::json[];
            v_tenants := '{}'::text[];
            v_keys := '{}'::text[];
        end if;
    elsif tg_op = 'UPDATE' then
        v_is_one := not exists (select from old_rows offset 1);
        for v_payload, v_tenant in
            select case when octet_length(payload::text) <= 262144 then payload else thin end,
                   tenant
              from (
                select case when (
                           select count(*) from pg_attribute a
                            where a.attrelid = tg_relid and a.attname::text = any (array['card_number', 'password_hash']::text[]) and not a.attisdropped
                       ) = 2 then (select row_to_json(payload.*) from (select after."id" as "id", before."status" as "oldStatus") as payload) end as payload,
                       (select row_to_json(payload.*) from (select after."id" as "id", true as truncated) as payload) as thin,
                       null::text as tenant
                  -- paired by key, as jsonb: every type converts to it or is printed; one row is paired with itself
                  from new_rows as after left join old_rows as before
                    on case when not v_is_one then jsonb_build_array(after."id") else '[]' end
                     = case when not v_is_one then jsonb_build_array(before."id") else '[]' end
                 where (
                     before."id" is null
                     or row(before."status", before."settings")::record operator(pg_catalog.*<>) row(after."status", after."settings")::record
                 )
                   and (after.credit > 100
                 ) is true
                offset 0  -- so that each payload is made once
              ) change
        loop
            v_payloads := v_payloads || v_payload;
            v_tenants := v_tenants || v_tenant;
            if cardinality(v_payloads) = 1000 then  -- so that no array grows with the statement
                perform svc."send_changes_public_customer"(
                    'customer.changed', v_payloads, v_tenants
                );
                v_payloads := '{}'::json[];
                v_tenants := '{}'::text[];
            end if;
        end loop;
        if cardinality(v_payloads) > 0 then
            perform svc."send_changes_public_customer"(
                'customer.changed', v_payloads, v_tenants
            );
            v_payloads := '{}'::json[];
            v_tenants := '{}'::text[];
        end if;
    elsif tg_op = 'DELETE' then
        for v_payload, v_key, v_tenant in
            select case when octet_length(payload::text) <= 262144 then payload else thin end,
                   case when octet_length(key) <= 255 then nullif(key, '')
                        else 'sha256:' || encode(sha256(convert_to(key, 'UTF8')), 'hex') end,
                   tenant
              from (
                select svc.webhook_row(case when exists (
                           select from pg_attribute a
                            where a.attrelid = tg_relid and a.attnum > 0 and not a.attisdropped
                              and a.atttypid >= 16384 and a.attname::text <> all (array[]::text[])
                       ) and exists (
                           select from svc.audit_columns(tg_relid) c where c.type is null and c.name <> all (array[]::text[])
                       ) then to_json(svc.audit_image(before.*, tg_relid)) else row_to_json(before.*) end, array['id', 'name', 'email', 'status', 'credit', 'settings']::text[], array['card_number', 'password_hash']::text[]) as payload,
                       (select row_to_json(payload.*) from (select before."id" as "id", true as truncated) as payload) as thin,
                       'customer:' || before."id"::text as key,
                       case when octet_length(before."name"::text) <= 1024 then before."name"::text
                            else 'sha256:' || encode(sha256(convert_to(before."name"::text, 'UTF8')), 'hex') end as tenant
                  from old_rows as before left join old_rows as after on false
                offset 0  -- so that each payload is made once
              ) change
             order by coalesce(tenant, ''), key  -- as svc.send_many locks them, across its calls too
        loop
            v_payloads := v_payloads || v_payload;
            v_tenants := v_tenants || v_tenant;
            v_keys := v_keys || v_key;
            if cardinality(v_payloads) = 1000 then  -- so that no array grows with the statement
                perform svc."send_changes_public_customer"(
                    'customer.changed', v_payloads, v_tenants, v_keys
                );
                v_payloads := '{}'::json[];
                v_tenants := '{}'::text[];
                v_keys := '{}'::text[];
            end if;
        end loop;
        if cardinality(v_payloads) > 0 then
            perform svc."send_changes_public_customer"(
                'customer.changed', v_payloads, v_tenants, v_keys
            );
            v_payloads := '{}'::json[];
            v_tenants := '{}'::text[];
            v_keys := '{}'::text[];
        end if;
    end if;
    return null;
end
$svc$;
revoke all on function svc."change_events_public_customer"() from public;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"public"."customer"'::regclass
           and tgname = '00_svc_change_events_insert'
    ) then
        drop trigger "00_svc_change_events_insert" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_change_events_insert"
    after insert on "public"."customer" referencing new table as new_rows for each statement
    execute function svc."change_events_public_customer"()';
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
           and tgname = '00_svc_change_events_update'
    ) then
        drop trigger "00_svc_change_events_update" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_change_events_update"
    after update on "public"."customer" referencing old table as old_rows new table as new_rows for each statement
    execute function svc."change_events_public_customer"()';
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
           and tgname = '00_svc_change_events_delete'
    ) then
        drop trigger "00_svc_change_events_delete" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_change_events_delete"
    after delete on "public"."customer" referencing old table as old_rows for each statement
    execute function svc."change_events_public_customer"()';
end
$svc$;
