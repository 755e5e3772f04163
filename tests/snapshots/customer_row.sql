create or replace function svc."capture_public_customer"() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set "DateStyle" = 'ISO, YMD'
set "IntervalStyle" = 'iso_8601'
set bytea_output = 'hex'
set extra_float_digits = 1
set lc_monetary = 'C'
as $svc$
-- made by svc-pg from its configuration for public.customer; change it there
declare
    v_before jsonb;
    v_after jsonb;
    v_changed text[];
    v_key text;
begin
    if tg_op = 'UPDATE' then
        v_before := to_jsonb(old) - array['display_name']::text[];
        v_after := to_jsonb(new) - array['display_name']::text[];
        -- a loop over constants costs half as much as an expression for each column, and a fifth of jsonb_each
        v_changed := '{}'::text[];
        foreach v_key in array array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'status']::text[] loop
            if v_before ->> v_key is distinct from v_after ->> v_key then
                v_changed := v_changed || v_key;
            end if;
        end loop;
        foreach v_key in array array['settings']::text[] loop  -- as text, "1" and 1 would look alike
            if v_before -> v_key is distinct from v_after -> v_key then
                v_changed := v_changed || v_key;
            end if;
        end loop;
        -- columns that are newer than this function
        if v_after - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[] <> '{}' then
            v_changed := v_changed || svc.audit_changed(
                v_before - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[],
                v_after - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[]
            );
        end if;
        insert into svc.audit_logs (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'UPDATE',
            v_after ->> 'id',
            nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
            nullif(current_setting('role'), 'none'),
            v_before, v_after,
            v_changed, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    elsif tg_op = 'INSERT' then
        v_after := to_jsonb(new) - array['display_name']::text[];
        insert into svc.audit_logs (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'INSERT',
            v_after ->> 'id',
            nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
            nullif(current_setting('role'), 'none'),
            null, v_after,
            null, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    elsif tg_op = 'DELETE' then
        v_before := to_jsonb(old) - array['display_name']::text[];
        insert into svc.audit_logs (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'DELETE',
            v_before ->> 'id',
            nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
            nullif(current_setting('role'), 'none'),
            v_before, null,
            null, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    elsif tg_op = 'TRUNCATE' then
        insert into svc.audit_logs (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'TRUNCATE',
            null::text,
            nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
            nullif(current_setting('role'), 'none'),
            null, null,
            null, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    end if;
    return null;
end
$svc$;
revoke all on function svc."capture_public_customer"() from public;

drop trigger if exists "00_svc_audit_write" on "public"."customer";
create trigger "00_svc_audit_write"
    after insert or delete on "public"."customer" for each row
    execute function svc."capture_public_customer"();

drop trigger if exists "00_svc_audit_update" on "public"."customer";
create trigger "00_svc_audit_update"
    after update on "public"."customer" for each row when (old.* operator(pg_catalog.*<>) new.*)
    execute function svc."capture_public_customer"();

drop trigger if exists "00_svc_audit_truncate" on "public"."customer";
create trigger "00_svc_audit_truncate"
    after truncate on "public"."customer" for each statement
    execute function svc."capture_public_customer"();

-- Write a SNAPSHOT entry for every row that is new to the log, or that the log last saw deleted.
lock table "public"."customer" in share row exclusive mode;
set local "TimeZone" = 'UTC';
set local "DateStyle" = 'ISO, YMD';
set local "IntervalStyle" = 'iso_8601';
set local bytea_output = 'hex';
set local extra_float_digits = 1;
set local lc_monetary = 'C';
insert into svc.audit_logs (
    table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, after_data, redacted_fields, context
)
select 'public.customer', v_table, 'SNAPSHOT', v_record,
       nullif(current_setting('svc.actor_id', true), ''), nullif(current_setting('svc.tenant_id', true), ''),
       nullif(current_setting('role'), 'none'), v_after,
       null, nullif(current_setting('svc.context', true), '')::jsonb
  from (
    select v_table, v_before, v_after, v_after ->> 'id' as v_record
      from (
        select "svc row".tableoid as v_table, null::jsonb as v_before, to_jsonb("svc row") - array['display_name']::text[] as v_after
          from "public"."customer" "svc row"
        offset 0
      ) image
  ) row
 where coalesce((
    select l.operation from svc.audit_logs l
     where l.table_name = 'public.customer'
       and l.record_id = v_record
     order by l."timestamp" desc, l.id desc limit 1
 ), 'DELETE') in ('DELETE', 'TRUNCATE');
