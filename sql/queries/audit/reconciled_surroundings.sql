-- What a reconciliation must know of the database
select current_setting('server_version_num')::integer as server_version, pg_is_in_recovery() as is_standby,
       svc.audit_is_copy() as is_copy,
       has_table_privilege('svc.installation', 'select') as reads_installation
