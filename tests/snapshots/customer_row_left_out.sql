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
comment on view svc."record_public_customer" is 'Internal: the way of a table''s entries into the log. Not all changes: no entry if only credit, settings changed; entries only when {"any": [{"before": {"status": {"eq": "live"}}}, {"after": {"status": {"eq": "live"}}}]}.';
insert into svc.audit_omissions (table_name, ignored, is_conditional)
values ('public.customer', array['credit', 'settings']::text[]::text[], true)
    on conflict (table_name) do update
   set ignored = array(select unnest(audit_omissions.ignored) union select unnest(excluded.ignored) order by 1),
       is_conditional = audit_omissions.is_conditional or excluded.is_conditional;

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
as $svc$
-- made by svc-pg from its configuration for public.customer; change it there
declare
    v_before jsonb;
    v_after jsonb;
    v_changed text[];
    v_key text;
    v_newer jsonb;  -- columns that are newer than this function
    v_moved_from text;
    v_actor text := nullif(current_setting('svc.actor_id', true), '');
    v_tenant text := nullif(current_setting('svc.tenant_id', true), '');
begin
    if octet_length(v_actor) > 1000 then
        v_actor := svc.audit_bounded(v_actor);
    end if;
    if octet_length(v_tenant) > 2048 then
        v_tenant := svc.audit_bounded_tenant(v_tenant);
    end if;
    if tg_op = 'UPDATE' then
        begin
            if has_table_privilege('pg_authid'::regclass, 'update') then
                raise 'a cast of a type that is newer than this function must not run';
            end if;
            v_before := to_jsonb(old) - array['display_name']::text[];
            v_after := to_jsonb(new) - array['display_name']::text[];
        exception when others then
            v_before := svc.audit_image(old, tg_relid) - array['display_name']::text[];
            v_after := svc.audit_image(new, tg_relid) - array['display_name']::text[];
        end;
        v_newer := v_after - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[];
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
        -- rare, so not in the insert: PostgreSQL prepares all functions of that anew for each row, also unused ones
        if v_newer <> '{}' or v_changed && array['id']::text[] then
            v_changed := v_changed || svc.audit_changed(v_before - array['card_number', 'credit', 'email', 'id', 'name', 'password_hash', 'settings', 'status']::text[], v_newer);
            v_moved_from := nullif(case when v_before ?& array['id']::text[] then case when octet_length(v_before ->> 'id') > 1000 then svc.audit_bounded(v_before ->> 'id') else v_before ->> 'id' end else svc.audit_record_id(tg_relid, v_before) end, case when v_after ?& array['id']::text[] then case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end else svc.audit_record_id(tg_relid, v_after) end);
        end if;
        if not ((v_changed <@ array['credit', 'settings']::text[] and v_changed <> '{}') is not true and ((((coalesce((v_before -> 'status') = '"live"'::jsonb, false)) or (coalesce((v_after -> 'status') = '"live"'::jsonb, false)))) or not coalesce(v_after, v_before) ?& array['status']::text[])) then
            return null;
        end if;
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context, moved_from
        ) values (
            'public.customer', tg_relid, 'UPDATE',
            case when v_after ?& array['id']::text[] then case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end else svc.audit_record_id(tg_relid, v_after) end,
            v_actor, v_tenant, nullif(current_setting('role'), 'none'), v_before, v_after,
            v_changed, null,
            nullif(current_setting('svc.context', true), '')::jsonb, v_moved_from
        );
    elsif tg_op = 'INSERT' then
        begin
            if has_table_privilege('pg_authid'::regclass, 'update') then
                raise 'a cast of a type that is newer than this function must not run';
            end if;
            v_after := to_jsonb(new) - array['display_name']::text[];
        exception when others then
            v_after := svc.audit_image(new, tg_relid) - array['display_name']::text[];
        end;
        if not (((((coalesce((v_before -> 'status') = '"live"'::jsonb, false)) or (coalesce((v_after -> 'status') = '"live"'::jsonb, false)))) or not coalesce(v_after, v_before) ?& array['status']::text[])) then
            return null;
        end if;
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'INSERT',
            case when v_after ?& array['id']::text[] then case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end else svc.audit_record_id(tg_relid, v_after) end,
            v_actor, v_tenant, nullif(current_setting('role'), 'none'), v_before, v_after,
            v_changed, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    elsif tg_op = 'DELETE' then
        begin
            if has_table_privilege('pg_authid'::regclass, 'update') then
                raise 'a cast of a type that is newer than this function must not run';
            end if;
            v_before := to_jsonb(old) - array['display_name']::text[];
        exception when others then
            v_before := svc.audit_image(old, tg_relid) - array['display_name']::text[];
        end;
        if not (((((coalesce((v_before -> 'status') = '"live"'::jsonb, false)) or (coalesce((v_after -> 'status') = '"live"'::jsonb, false)))) or not coalesce(v_after, v_before) ?& array['status']::text[])) then
            return null;
        end if;
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'DELETE',
            case when v_before ?& array['id']::text[] then case when octet_length(v_before ->> 'id') > 1000 then svc.audit_bounded(v_before ->> 'id') else v_before ->> 'id' end else svc.audit_record_id(tg_relid, v_before) end,
            v_actor, v_tenant, nullif(current_setting('role'), 'none'), v_before, v_after,
            v_changed, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
    elsif tg_op = 'TRUNCATE' then
        insert into svc."record_public_customer" (
            table_name, table_oid, operation, record_id, actor_id, tenant_id, db_role, before_data, after_data,
            changed_fields, redacted_fields, context
        ) values (
            'public.customer', tg_relid, 'TRUNCATE',
            null::text,
            v_actor, v_tenant, nullif(current_setting('role'), 'none'), v_before, v_after,
            v_changed, null,
            nullif(current_setting('svc.context', true), '')::jsonb
        );
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
           and tgname = '00_svc_audit_write'
    ) then
        drop trigger "00_svc_audit_write" on "public"."customer";
    end if;
    execute v_create || 'trigger "00_svc_audit_write"
    after insert or delete on "public"."customer" for each row
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
    after update on "public"."customer" for each row when (
        pg_catalog.jsonb_populate_record(old.*, ''{"settings": null}'')
        operator(pg_catalog.*<>) pg_catalog.jsonb_populate_record(new.*, ''{"settings": null}'')
    )
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
       known.state,
       compared.v_recorded, difference.fields,
       compared.v_redacted,
       case when kind.kind <> 'unrecorded' then 'found by backfill' end,
       case when kind.kind = 'unrecorded' then nullif(current_setting('svc.context', true), '')::jsonb
            else jsonb_build_object('found', kind.kind) end,
       null
  from (
    select row.*, case when last.id is not null then row.v_record_id end as v_known_id,
           last.id is null or last.operation in ('DELETE', 'GONE')
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
        select v_leaf, case when octet_length(v_after ->> 'id') > 1000 then svc.audit_bounded(v_after ->> 'id') else v_after ->> 'id' end as v_record_id, v_after as v_recorded,
               null::text[] as v_redacted
          from (
            select "svc row".tableoid as v_leaf, null::jsonb as v_before, case when pg_column_size("svc row") <= 500000 then to_jsonb("svc row") else svc.audit_image("svc row", '"public"."customer"'::regclass, true) end - array['display_name']::text[] as v_after, null::text[] as v_changed
              from only "public"."customer" "svc row"
             where "svc row".ctid >= '(0,0)'::tid and "svc row".ctid < '(64,0)'::tid
            offset 0
          ) image
         where ((((coalesce((v_before -> 'status') = '"live"'::jsonb, false)) or (coalesce((v_after -> 'status') = '"live"'::jsonb, false)))) or not coalesce(v_after, v_before) ?& array['status']::text[])
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
               known.state, known.redacted_fields, compared.v_recorded, compared.v_redacted, array['credit', 'settings']::text[]
           ) end as fields
    offset 0
 ) difference
 cross join lateral (
    select case when not compared.v_is_suspect then null
                when compared.v_record_id is null then 'unkeyed'
                when known.state is not null then
                    null
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
                select case when pg_column_size("svc row") <= 500000 then to_jsonb("svc row") else svc.audit_image("svc row", '"public"."customer"'::regclass, true) end - array['display_name']::text[] as v_after
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
           known.state,
           known.redacted_fields,
           'found by backfill', '{"found": "gone"}', known.partition
      from ended known
    returning 1
)
select count(*) as entries from written
