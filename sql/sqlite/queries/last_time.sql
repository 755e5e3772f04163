-- The time of the last entry by which a record began, changed or ended
select max(at)
  from (
    select max(timestamp) as at from svc_audit_logs where table_name = %s and record_id = %s
     union all
    select max(timestamp) from svc_audit_logs where table_name = %s and moved_from = %s
  ) ends
