-- Send events of one table. The function of the triggers, which calls it, belongs to the table's owner, who may send
-- these events and no others.
-- access to send_changes_*: owner, admin
create or replace function svc."send_changes_shop_Order Line"(
    event text, payloads json[], tenants text[], keys text[] default null
) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
-- made by svc-pg from its configuration for shop.Order Line; change it there
begin
    if event is null or event <> all (array['line.changed']::text[]) then
        raise exception 'event "%" is not sent for changes of "%"', event, 'shop.Order Line'
            using errcode = 'insufficient_privilege';
    end if;
    perform svc.send_many(event, payloads, tenants => tenants, keys => keys);
end
$svc$;
revoke all on function svc."send_changes_shop_Order Line"(text, json[], text[], text[]) from public;

-- access to change_events_*: trigger
create or replace function svc."change_events_shop_Order Line"() returns trigger
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
-- made by svc-pg from its configuration for shop.Order Line; change it there
#variable_conflict use_column
declare
    v_payload json;
    v_payloads json[] := '{}'::json[];
    v_tenant text;
    v_tenants text[] := '{}'::text[];
    v_is_one boolean;
begin
    if has_table_privilege('pg_authid'::regclass, 'update') then
        perform svc.audit_refuse_superuser('shop.Order Line', tg_relid, array[]::text[]);
    end if;
    if tg_op = 'UPDATE' then
        v_is_one := not exists (select from old_rows offset 1);
        for v_payload, v_tenant in
            select payload,
                   tenant
              from (
                select (select row_to_json(payload.*) from (select after."order_id" as "order_id", after."place" as "place") as payload) as payload,
                       null::text as tenant
                  -- paired by key, as jsonb: every type converts to it or is printed; one row is paired with itself
                  from new_rows as after left join old_rows as before
                    on case when not v_is_one then jsonb_build_array(after."order_id", after."place") else '[]' end
                     = case when not v_is_one then jsonb_build_array(before."order_id", before."place") else '[]' end
                 where (before.* operator(pg_catalog.*<>) after.*) is not false
                offset 0  -- so that each payload is made once
              ) change
        loop
            v_payloads := v_payloads || v_payload;
            v_tenants := v_tenants || v_tenant;
            if cardinality(v_payloads) = 1000 then  -- so that no array grows with the statement
                perform svc."send_changes_shop_Order Line"(
                    'line.changed', v_payloads, v_tenants
                );
                v_payloads := '{}'::json[];
                v_tenants := '{}'::text[];
            end if;
        end loop;
        if cardinality(v_payloads) > 0 then
            perform svc."send_changes_shop_Order Line"(
                'line.changed', v_payloads, v_tenants
            );
            v_payloads := '{}'::json[];
            v_tenants := '{}'::text[];
        end if;
    end if;
    return null;
end
$svc$;
revoke all on function svc."change_events_shop_Order Line"() from public;

do $svc$
declare
    v_create text := 'create ';
begin
    if current_setting('server_version_num')::integer >= 140000 then
        v_create := 'create or replace ';
    elsif exists (
        select from pg_trigger
         where tgrelid = '"shop"."Order Line"'::regclass
           and tgname = '00_svc_change_events_update'
    ) then
        drop trigger "00_svc_change_events_update" on "shop"."Order Line";
    end if;
    execute v_create || 'trigger "00_svc_change_events_update"
    after update on "shop"."Order Line" referencing old table as old_rows new table as new_rows for each statement
    execute function svc."change_events_shop_Order Line"()';
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
         where tgrelid = '"shop"."line_2026"'::regclass
           and tgname = '00_svc_change_events_update'
    ) then
        drop trigger "00_svc_change_events_update" on "shop"."line_2026";
    end if;
    execute v_create || 'trigger "00_svc_change_events_update"
    after update on "shop"."line_2026" referencing old table as old_rows new table as new_rows for each statement
    execute function svc."change_events_shop_Order Line"()';
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
         where tgrelid = '"shop"."line_2027"'::regclass
           and tgname = '00_svc_change_events_update'
    ) then
        drop trigger "00_svc_change_events_update" on "shop"."line_2027";
    end if;
    execute v_create || 'trigger "00_svc_change_events_update"
    after update on "shop"."line_2027" referencing old table as old_rows new table as new_rows for each statement
    execute function svc."change_events_shop_Order Line"()';
end
$svc$;
