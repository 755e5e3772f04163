-- The times before which entries of a table were purged, as entries tell
select distinct json_unquote(json_extract(before_data, '$.before'))
  from svc.audit_logs
 where table_name = 'svc.audit_logs' and operation = 'DELETE' and label = 'audit log purged'
   and json_unquote(json_extract(before_data, '$.table')) = %s
