-- Write that the record of an entry, its last, is gone.
insert into svc.audit_logs (
    `timestamp`, db_user, table_name, operation, record_id, before_data, redacted_fields, label, context
)
select utc_timestamp(6), user(), table_name, 'GONE', record_id, {before}, {redacted}, %s, '{"found": "gone"}'
  from svc.audit_logs where id = %s
