-- The audit log for other programs: the fields of the specification under its names, times in ISO 8601 (UTC).
-- No index serves a text made from a column, so conditions on time and id use the last two columns.
-- access: reader, admin
create or replace view svc.audit_log_export as
select l.id::text as id,
       to_char(l."timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "timestamp",
       l.table_name as "tableName",
       l.operation::text as operation,
       l.record_id as "recordId",
       l.actor_id as "actorId",
       l.tenant_id as "tenantId",
       l.db_user as "dbUser",
       l.db_role as "dbRole",
       l.before_data as "beforeData",
       l.after_data as "afterData",
       l.changed_fields as "changedFields",
       l.label,
       l.severity::text as severity,
       l.compliance,
       l.description,
       l.redacted_fields as "redactedFields",
       l.context,
       l.xact_id::text as "xactId",
       l.partition,
       l.id as entry_id,
       l."timestamp" as recorded_at
  from svc.audit_logs l;
comment on view svc.audit_log_export is
    'The audit log in the names of the API, with times in ISO 8601: a row an entry. For copy and for other programs.';
comment on column svc.audit_log_export.id is 'The entry''s id.';
comment on column svc.audit_log_export."timestamp" is
    'When the entry was written: ISO 8601, UTC. For conditions use recorded_at.';
comment on column svc.audit_log_export."tableName" is 'The table, with its schema: public.customer.';
comment on column svc.audit_log_export.operation is 'INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT, GONE, DDL or READ.';
comment on column svc.audit_log_export."recordId" is
    'The key of the record: the text of one column, or a JSON array of several.';
comment on column svc.audit_log_export."actorId" is 'The actor, as the application set it.';
comment on column svc.audit_log_export."tenantId" is 'The tenant, as the application set it.';
comment on column svc.audit_log_export."dbUser" is 'The role that connected, as PostgreSQL authenticated it.';
comment on column svc.audit_log_export."dbRole" is 'The role that was set, if it is another.';
comment on column svc.audit_log_export."beforeData" is 'The row before the change.';
comment on column svc.audit_log_export."afterData" is 'The row after the change.';
comment on column svc.audit_log_export."changedFields" is 'The columns that an UPDATE changed.';
comment on column svc.audit_log_export.label is 'The name that a rule gives the change.';
comment on column svc.audit_log_export.severity is 'low, medium, high or critical, as a rule says.';
comment on column svc.audit_log_export.compliance is 'Tags of compliance, as a rule says.';
comment on column svc.audit_log_export.description is 'The change in a sentence, as a rule says.';
comment on column svc.audit_log_export."redactedFields" is
    'The columns whose values are not recorded, or are disguised; {*} if all are.';
comment on column svc.audit_log_export.context is 'Facts about the request, as the application set them.';
comment on column svc.audit_log_export."xactId" is 'The transaction: equal for all changes that were made together.';
comment on column svc.audit_log_export.partition is
    'The partition that held the row, or that a TRUNCATE emptied alone: public.orders_2026_01. Null of other tables.';
comment on column svc.audit_log_export.entry_id is 'The id as a number, for conditions and for order.';
comment on column svc.audit_log_export.recorded_at is 'The timestamp as a timestamptz, for conditions and for order.';
