-- The event trigger that captures what is new, before the next statement: partitions get the TRUNCATE triggers that
-- PostgreSQL does not clone, a table that takes the name of an audited one gets that one's triggers, and another one
-- that a pattern covers those of svc.audit_capture_new. A new owner may clone the triggers of a partitioned table. It
-- runs as whoever executes the DDL, so it can do nothing that they cannot; it locks nothing that they have not locked.
-- What it leaves out, the next install makes. It fails no statement, and a table whose capture fails keeps no other
-- from its own: what was made before it is made again without it. So there are few subtransactions: more than 64 of
-- them in a transaction slow down all sessions.
-- access: trigger
create or replace function svc.audit_on_new() returns event_trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'  -- below deadlock_timeout: no statement of others is cancelled
set enable_seqscan = off  -- each is looked up, whatever the statistics of the catalog say
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $svc$
-- names are quoted by svc.audit_trigger_sql
-- @plpgsql_check_options: security_warnings = off
declare
    v_most constant integer := 200;
    v_svc constant oid := to_regnamespace('svc');
    v_relations constant oid[] := array(
        select distinct d.objid
          from pg_event_trigger_ddl_commands() d
         where d.classid = 'pg_class'::regclass and d.object_type = 'table'
           and d.schema_name is distinct from 'pg_temp'
         order by 1 limit v_most
    );
    v_capture_new constant oid := (
        select p.oid from pg_proc p where p.pronamespace = v_svc and p.proname = 'audit_capture_new');
    v_replaces constant boolean := current_setting('server_version_num')::integer >= 140000;
    v_most_failures constant integer := 3;  -- each of which may be a wait for a lock
    v_wanted oid[] := array[]::oid[];
    v_made text[] := array[]::text[];  -- the SQL of each, in the same order
    v_sql text;
    v_from integer := 1;
    v_at integer;
    v_failures integer := 0;
    v_new record;
    v_plain text;
    v_digest text;
    v_function pg_proc;
    v_old oid;
begin
    begin
        for v_new in
            with recursive part(relation, tgname, proname) as (
                select x.relation, t.tgname, p.proname
                  from unnest(v_relations) x(relation)
                 cross join lateral pg_partition_ancestors(x.relation) a(relid)
                  join pg_class ac on ac.oid = a.relid
                  join pg_namespace an on an.oid = ac.relnamespace
                  join pg_trigger t on t.tgrelid = a.relid and t.tgtype = 32 and t.tgenabled = 'O'
                   and t.tgname = '00_svc_audit_truncate_' || left(encode(sha256(  -- the name that an install gives
                           convert_to(an.nspname, 'UTF8') || decode('00', 'hex') || convert_to(ac.relname, 'UTF8')
                       ), 'hex'), 8)
                  join pg_proc p on p.oid = t.tgfoid and p.pronamespace = v_svc
                   and (p.proname::text ^@ 'capture_' or p.proname = 'audit_capture_new')
                union
                select i.inhrelid, o.tgname, o.proname
                  from part o join pg_inherits i on i.inhparent = o.relation
                  join pg_class c on c.oid = i.inhrelid and c.relispartition
            )
            select c.oid, n.nspname, c.relname, o.tgname, o.proname
              from part o join pg_class c on c.oid = o.relation join pg_namespace n on n.oid = c.relnamespace
             where c.relispartition and c.relkind in ('r', 'p') and c.relpersistence <> 't'
               and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = o.tgname)
             order by c.oid limit v_most
        loop
            v_sql := svc.audit_trigger_sql('truncate', v_new.tgname, v_new.proname, v_new.nspname, v_new.relname);
            if v_sql is not null then
                v_wanted := v_wanted || v_new.oid;
                v_made := v_made || v_sql;
            end if;
        end loop;
        for v_new in
            select c.oid, c.relowner, c.relname, n.nspname
              from unnest(v_relations) x(relation)
              join pg_class c on c.oid = x.relation and c.relkind = 'r' and not c.relispartition
               and c.relpersistence <> 't'
              join pg_namespace n on n.oid = c.relnamespace
             where n.nspname !~ '^(pg_|information_schema$|svc$)'
               and not exists (
                       select from pg_trigger t where t.tgrelid = c.oid and t.tgname::text ^@ '00_svc_audit_'
                          and (t.tgfoid <> v_capture_new or v_replaces is not true))
        loop
            -- the name of its capture function, if there is one
            v_plain := format('capture_%s_%s', v_new.nspname, v_new.relname);
            if strpos(v_new.nspname, '_') = 0 and octet_length(convert_to(v_plain, 'UTF8')) <= 63 then
                select p.* into v_function from pg_proc p where p.pronamespace = v_svc and p.proname = v_plain::name;
            else
                v_digest := left(encode(sha256(
                    convert_to(v_new.nspname, 'UTF8') || decode('00', 'hex') || convert_to(v_new.relname, 'UTF8')
                ), 'hex'), 10);
                select p.* into v_function from pg_proc p
                 where p.pronamespace = v_svc and p.proname >= 'capture_' and p.proname < 'capture`'
                   and right(p.proname::text, 11) = '_' || v_digest;
            end if;
            -- it belongs to the owner of the table, or of a superuser's table to a role of its own
            continue when not found or v_function.proowner <> v_new.relowner and not exists (
                select from pg_roles r join pg_roles f on f.oid = v_function.proowner
                 where r.oid = v_new.relowner and r.rolsuper and f.rolname::text ^@ 'svc_capture_');
            -- the table that had the name, with the triggers of one that is captured row by row, and no others
            select min(t.tgrelid::bigint)::oid into v_old
              from pg_depend d
              join pg_trigger t on t.oid = d.objid
              join pg_class c on c.oid = t.tgrelid and c.relkind = 'r' and not c.relispartition
             where d.classid = 'pg_trigger'::regclass and d.refclassid = 'pg_proc'::regclass
               and d.refobjid = v_function.oid
            having count(distinct t.tgrelid) = 1 and count(*) = 3 and bool_and(
                   t.tgenabled = 'O' and t.tgnargs = 0 and t.tgattr::text = ''
                   and (t.tgname, t.tgtype) in (
                       ('00_svc_audit_write', 13), ('00_svc_audit_update', 17), ('00_svc_audit_truncate', 32))
                   and case t.tgtype when 17
                            then pg_get_triggerdef(t.oid) like '% FOR EACH ROW WHEN ((old.* *<> new.*)) EXECUTE %'
                            else t.tgqual is null end);
            continue when not found or exists (  -- a column that its rules may name is not there
                select from pg_attribute a
                  left join pg_attribute b on b.attrelid = v_new.oid and b.attname = a.attname and not b.attisdropped
                 where a.attrelid = v_old and a.attnum > 0 and not a.attisdropped
                   and (b.atttypid, b.atttypmod) is distinct from (a.atttypid, a.atttypmod)
            ) or (  -- or another key, by which its records would be taken for one
                select count(distinct k.columns) <> 1 or count(*) <> 2
                  from (select array_agg(a.attname order by o.place) as columns
                          from pg_index i
                         cross join unnest(i.indkey::int2[]) with ordinality o(number, place)
                          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = o.number
                         where i.indrelid in (v_old, v_new.oid) and i.indisprimary
                         group by i.indexrelid) k
            );
            select string_agg(m.sql, e'\n' order by k.place) into v_sql
              from unnest(array['write', 'update', 'truncate']) with ordinality k(kind, place)
             cross join lateral svc.audit_trigger_sql(
                       k.kind, '00_svc_audit_' || k.kind, v_function.proname, v_new.nspname, v_new.relname) m(sql)
            having count(m.sql) = 3;
            if found then
                v_wanted := v_wanted || v_new.oid;
                v_made := v_made || v_sql;
            end if;
        end loop;
        -- who lacks these rights cannot make the triggers either
        if (case when has_schema_privilege(v_svc, 'USAGE')
                 then has_function_privilege('svc.audit_new_triggers(oid)', 'EXECUTE') end) then
            for v_new in select x.relation as oid from unnest(v_relations) x(relation) loop
                v_sql := svc.audit_new_triggers(v_new.oid);
                if v_sql is not null and v_new.oid <> all (v_wanted) then
                    v_wanted := v_wanted || v_new.oid;
                    v_made := v_made || v_sql;
                end if;
            end loop;
        end if;
        if tg_tag = 'ALTER TABLE' then
            for v_new in
                select distinct p.proname, pg_get_userbyid(c.relowner) as owner
                  from unnest(v_relations) x(relation) join pg_class c on c.oid = x.relation and c.relkind = 'p'
                  join pg_trigger t on t.tgrelid = c.oid and t.tgname::text ^@ '00_svc_audit_'
                  join pg_proc p on p.oid = t.tgfoid and p.pronamespace = v_svc and p.proname::text ^@ 'capture_'
                 where not has_function_privilege(c.relowner, p.oid, 'EXECUTE')
            loop
                begin
                    execute format('grant execute on function svc.%I() to %I', v_new.proname, v_new.owner);
                exception when others then
                    raise warning 'svc-pg: % makes no partitions before the next svc-pg install: %', v_new.owner,
                        sqlerrm using errcode = sqlstate;
                end;
            end loop;
        end if;
        if v_wanted = array[]::oid[] then
            return;
        end if;
        select coalesce(array_agg(w.relation order by w.place), array[]::oid[]),
               coalesce(array_agg(w.sql order by w.place), array[]::text[])
          into v_wanted, v_made
          from unnest(v_wanted, v_made) with ordinality w(relation, sql, place)
         where w.relation in (
                   select l.relation from pg_locks l
                    where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.granted
                      and l.mode = 'AccessExclusiveLock');
    exception when others then
        raise warning 'svc-pg: after % a table is not captured before the next svc-pg install: %', tg_tag, sqlerrm
            using errcode = sqlstate;
        return;
    end;
    while v_from <= cardinality(v_made) and v_failures < v_most_failures loop
        begin
            v_at := v_from;
            while v_at <= cardinality(v_made) loop
                execute v_made[v_at];
                v_at := v_at + 1;
            end loop;
        exception when others then
            v_failures := v_failures + 1;
            raise warning 'svc-pg: after % table % is not captured before the next svc-pg install: %', tg_tag,
                v_wanted[v_at]::regclass, sqlerrm using errcode = sqlstate;
            begin
                while v_from < v_at loop
                    execute v_made[v_from];
                    v_from := v_from + 1;
                end loop;
            exception when others then
                raise warning 'svc-pg: after % tables are not captured before the next svc-pg install: %', tg_tag,
                    sqlerrm using errcode = sqlstate;
            end;
        end;
        v_from := v_at + 1;
    end loop;
    if v_from <= cardinality(v_made) then
        raise warning 'svc-pg: after % tables are not captured before the next svc-pg install: % more', tg_tag,
            cardinality(v_made) - v_from + 1;
    end if;
end
$svc$;
revoke all on function svc.audit_on_new() from public;
