-- Make this month's partition of the audit log, those of the coming months and those of rows that went to the default,
-- and see that every partition has its guards. Returns the names of new partitions. Runs as the owner of the log, who so
-- owns the partitions too, whoever calls it.
-- LIKE and ATTACH let captures go on; PARTITION OF would stop them. All of it waits for readers of the default
-- partition, hence the lock_timeout: the caller tries again later, and nothing is lost meanwhile.
create or replace function svc.audit_ensure_partitions(p_months integer default 3) returns text[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set lock_timeout = '2s'
as $svc$
declare
    v_month timestamptz;
    v_months timestamptz[];
    v_next timestamptz;
    v_leaf text;
    v_leaves text[];
    v_guard name;
    v_grantee text;
    v_made text[] := '{}'::text[];
begin
    perform pg_advisory_xact_lock(1937138032, 3);
    -- an array, because ALTER TABLE refuses a table on which the query of a FOR loop is still open
    select array_agg(x order by x) into v_months from (
        select generate_series(
            date_trunc('month', now()), date_trunc('month', now()) + make_interval(months => p_months), interval '1 month'
        ) as x
        union
        select date_trunc('month', d."timestamp") from svc.audit_logs_default d
    ) wanted;
    foreach v_month in array v_months loop
        v_leaf := to_char(v_month, '"audit_logs_"YYYY_MM');
        continue when to_regclass('svc.' || v_leaf) is not null;
        v_next := v_month + interval '1 month';
        -- from 17 on, a table with an identity column of its own cannot be attached
        execute format('create table svc.%I (like svc.audit_logs including all excluding identity)', v_leaf);
        if exists (select from svc.audit_logs_default d where d."timestamp" >= v_month and d."timestamp" < v_next) then
            lock table svc.audit_logs_default in access exclusive mode;
            alter table svc.audit_logs_default disable trigger audit_guard_row;
            execute format(
                'with moved as (delete from svc.audit_logs_default where "timestamp" >= %L and "timestamp" < %L returning *)'
                ' insert into svc.%I select * from moved',
                v_month, v_next, v_leaf
            );
            alter table svc.audit_logs_default enable always trigger audit_guard_row;
        end if;
        -- a valid CHECK spares ATTACH the scan of the new leaf
        execute format(
            'alter table svc.%I add constraint bounds check ("timestamp" >= %L and "timestamp" < %L)',
            v_leaf, v_month, v_next
        );
        execute format(
            'alter table svc.audit_logs attach partition svc.%I for values from (%L) to (%L)', v_leaf, v_month, v_next
        );
        execute format('alter table svc.%I drop constraint bounds', v_leaf);
        -- default privileges of the owner open new tables; the log is read through its parent
        for v_grantee in
            select distinct case when x.grantee <> 0 then pg_get_userbyid(x.grantee) end  -- null stands for public
              from pg_class c cross join lateral aclexplode(c.relacl) x
             where c.oid = format('svc.%I', v_leaf)::regclass and x.grantee <> c.relowner
        loop
            if v_grantee is null then
                execute format('revoke all on svc.%I from public', v_leaf);
            else
                execute format('revoke all on svc.%I from %I', v_leaf, v_grantee);
            end if;
        end loop;
        v_made := v_made || v_leaf;
    end loop;
    -- a TRUNCATE of a partition does not fire its parent's trigger
    select array_agg(c.relname::text) into v_leaves
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'svc.audit_logs'::regclass;
    foreach v_leaf in array v_leaves loop
        if not exists (
            select from pg_trigger t
             where t.tgrelid = format('svc.%I', v_leaf)::regclass and t.tgname = 'audit_guard_truncate'
               and t.tgfoid = 'svc.audit_guard'::regproc and t.tgtype = 34  -- before truncate, for each statement
        ) then
            execute format(
                'drop trigger if exists audit_guard_truncate on svc.%1$I;'
                'create trigger audit_guard_truncate before truncate on svc.%1$I'
                ' for each statement execute function svc.audit_guard()',
                v_leaf
            );
        end if;
        for v_guard in
            select t.tgname from pg_trigger t
             where t.tgrelid = format('svc.%I', v_leaf)::regclass
               and t.tgname in ('audit_guard_row', 'audit_guard_truncate') and t.tgenabled <> 'A'
        loop
            execute format('alter table svc.%I enable always trigger %I', v_leaf, v_guard);
        end loop;
    end loop;
    return v_made;
end
$svc$;
