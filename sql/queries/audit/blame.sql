select field, value, is_redacted, entry_id::text as entry_id, changed_at, operation, actor_id, db_user,
       xact_id::text as xact_id, known_since,
       svc.audit_is_found(operation, entry_id) as is_found, unchanged_since, place_id, record_then, newest, newest_id
  from svc.audit_blame(%s, %s, %s, %s, %s, %s, %s, %s, %s::jsonb) b
 order by changed_at desc nulls last, b.entry_id, field collate "C"
