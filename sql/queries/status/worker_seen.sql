-- A condition: a worker is seen by its connections, and while it delivers
select pg_is_in_recovery() -- whose primary has the workers
    or exists (select from svc.webhook_leases l where l.lease_until > now())
    or exists (select from pg_stat_activity a
                where a.datname = current_database() and starts_with(a.application_name, 'svc-pg worker')
                  and a.pid <> pg_backend_pid())
