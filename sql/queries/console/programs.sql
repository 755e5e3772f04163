select case when starts_with(a.application_name, 'svc-pg worker') then 'worker' else 'console' end as kind,
       nullif(substr(a.application_name, length('svc-pg worker ') + 1), '') as name,
       host(a.client_addr) as address, count(*)::integer as connections, min(a.backend_start) as connected_at,
       max(a.state_change) as last_seen_at
  from pg_stat_activity a
 where a.datname = current_database() and a.pid <> pg_backend_pid()
   and (starts_with(a.application_name, 'svc-pg worker') or a.application_name = 'svc-pg console')
 group by 1, 2, 3 order by min(a.backend_start), 2, 3 limit 200
