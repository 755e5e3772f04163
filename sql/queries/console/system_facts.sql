select i.version as schema_version, current_setting('server_version') as postgres_version,
       pg_is_in_recovery() as is_standby, pg_database_size(current_database()) as database_bytes,
       (select min(e.created_at) from svc.webhook_messages e
         where e.id = (select m.id from svc.webhook_messages m order by m.id limit 1)) as oldest_message_at,
       (select a."timestamp" from svc.audit_logs a order by a."timestamp" limit 1) as oldest_entry_at
  from svc.installation i
