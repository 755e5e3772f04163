select field, value, is_redacted, entry_id::text as entry_id, changed_at, operation, actor_id, db_user,
       xact_id::text as xact_id, known_since,
       coalesce(operation = 'SNAPSHOT' and exists (
           select from svc.audit_logs l
            where l."timestamp" = b.changed_at and l.id = b.entry_id and l.changed_fields is not null
       ), false) as is_found
  from svc.audit_blame(%s, %s) b
 order by changed_at desc nulls last, b.entry_id, field collate "C"
