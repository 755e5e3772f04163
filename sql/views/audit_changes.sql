-- One row for each field that an entry changes: the changed fields of an UPDATE, all fields of an INSERT or DELETE.
-- access: reader, admin
create or replace view svc.audit_changes as
select l.id as entry_id, l."timestamp", l.actor_id, l.tenant_id, l.table_name, l.operation::text as operation,
       l.record_id, c.field, l.before_data -> c.field as before, l.after_data -> c.field as after
  from svc.audit_logs l
 cross join lateral unnest(coalesce(l.changed_fields, array(
           -- capture_log takes any JSON, and only an object has keys
           select jsonb_object_keys(case when l.erased_leaf is null
                                              and jsonb_typeof(coalesce(l.after_data, l.before_data)) = 'object'
                                         then coalesce(l.after_data, l.before_data) else '{}' end)
       ))) c(field)
 where l.operation::text not in ('DDL', 'READ') and (l.operation <> 'SNAPSHOT' or l.before_data is not null);
comment on view svc.audit_changes is
    'The audit log by field: a row for each field that an UPDATE changed, and for each of an INSERT and a DELETE. '
    'Erased entries have no values.';
comment on column svc.audit_changes.entry_id is 'The entry''s id.';
comment on column svc.audit_changes."timestamp" is 'When the entry was written.';
comment on column svc.audit_changes.actor_id is 'The actor, as the application set it.';
comment on column svc.audit_changes.tenant_id is 'The tenant, as the application set it.';
comment on column svc.audit_changes.table_name is 'The table, with its schema: public.customer.';
comment on column svc.audit_changes.operation is
    'INSERT, UPDATE or DELETE; SNAPSHOT or GONE of a change that a comparison found, by nobody known.';
comment on column svc.audit_changes.record_id is
    'The key of the record: the text of one column, or a JSON array of several.';
comment on column svc.audit_changes.field is 'The column that changed.';
comment on column svc.audit_changes.before is
    'Its value before; null if there was no record, or if its values are not recorded.';
comment on column svc.audit_changes.after is
    'Its value after; null if there is no record, or if its values are not recorded.';
