-- A row if the log can say that a record is gone
select 1 from information_schema.columns
 where table_schema = 'svc' and table_name = 'audit_logs' and column_name = 'operation' and column_type like '%GONE%'
