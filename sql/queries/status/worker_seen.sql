-- A condition: a worker is seen by its connections, and while it delivers
select pg_is_in_recovery() -- whose primary has the workers
    or exists (select from svc.webhook_leases l where l.lease_until > now())
    or exists (select from pg_stat_activity a
                where a.datname = current_database() and starts_with(a.application_name, 'svc-pg worker')
                  and a.pid <> pg_backend_pid()
                  -- A pooler keeps the session and the name of a worker that is gone; one that runs asks something
                  -- every 5 s. Whoever may not see the times counts each session.
                  and coalesce(a.state <> 'idle' or a.state_change > now() - interval '1 minute', true))
