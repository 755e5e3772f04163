-- Row triggers of the parent are cloned and refer to it by tgparentid (13 has only tgisinternal); statement triggers
-- are each partition's own. 34 is a trigger before TRUNCATE for the statement.
select format('%s on %s', guard, i.inhrelid::regclass) as identity,
       case when t.oid is null then 'missing' when t.tgenabled = 'O' then 'tampered' else 'disabled' end as state
  from pg_inherits i
 cross join unnest(array['audit_guard_row', 'audit_guard_truncate']) guard
  left join pg_trigger t on t.tgrelid = i.inhrelid and t.tgname = guard and t.tgfoid = 'svc.audit_guard'::regproc
       and case guard when 'audit_guard_truncate' then t.tgtype = 34 else t.tgparentid = (
               select p.oid from pg_trigger p where p.tgrelid = i.inhparent and p.tgname = guard
           ) end
 where i.inhparent = 'svc.audit_logs'::regclass and t.tgenabled is distinct from 'A'
 order by 1
