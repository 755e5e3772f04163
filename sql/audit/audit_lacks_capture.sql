-- What a table or partition of this audited one lacks of its capture, in words; null if it lacks nothing.
-- access: trigger
create or replace function svc.audit_lacks_capture(p_relation oid, p_root oid) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select case when p_relation <> p_root then (
               select 'without TRUNCATE before the next install'
                 from pg_trigger t join pg_class c on c.oid = p_relation and c.relkind in ('r', 'p')
                where t.tgrelid = p_root and t.tgname::text ^@ '00_svc_audit_truncate_'
                  and not exists (
                      select from pg_trigger o
                       where o.tgrelid = p_relation and o.tgname = t.tgname and o.tgenabled = t.tgenabled
                         and (o.tgfoid, o.tgtype) = (t.tgfoid, t.tgtype))
                limit 1)
           when not exists (
               select from pg_trigger t
                 join pg_proc p on p.oid = t.tgfoid and p.pronamespace = 'svc'::regnamespace
                where t.tgrelid = p_root and t.tgname::text ^@ '00_svc_audit_' and t.tgenabled <> 'D')
           then 'not before the next install'
           -- others that had rows before their capture are gaps, which status names
           else (
               select 'without the rows that it has now'
                 from pg_trigger t
                where t.tgrelid = p_relation and t.tgname::text ^@ '00_svc_audit_'
                  and t.tgfoid = to_regproc('svc.audit_capture_new') and pg_relation_size(p_relation) > 0
                limit 1)
           end
$svc$;
revoke all on function svc.audit_lacks_capture(oid, oid) from public;
