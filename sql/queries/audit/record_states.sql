-- The positions of the log that the page shows, then the states that have them
select h.valid_from, h.valid_to, h.operation, h.actor_id, h.tenant_id, h.db_user, h.entry_id::text as entry_id,
       h.xact_id::text as xact_id, h.before_data, h.after_data, h.changed_fields, h.redacted_fields, h.moved_from,
       h.moved_to, h.is_in_order, svc.audit_is_found(h.operation, h.entry_id) as is_found,
       h.place_id::text as place_id
  from svc.audit_near(
           %s, %s, %s, %s, %s, %s, nullif(current_setting('svc.tenant_id', true), '')
       ) near
 cross join lateral svc.history(%s, %s, near.first, near.last) h
 where near.first is not null
