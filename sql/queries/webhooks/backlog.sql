-- A snapshot keeps what has finished since in the indexes, also one of a replication slot or a prepared transaction.
select (
    with r as materialized ( -- once, not for each endpoint
        select f.endpoint_id, f.next_attempt_at
          from svc.webhook_endpoints_due('00000000-0000-0000-0000-000000000000', 1000) f
        union all
        (select q.endpoint_id, q.next_attempt_at from svc.webhook_queue q
          where q.lane = 'later' and q.next_attempt_at <= now() order by q.next_attempt_at limit 1000)
        union all -- of endpoints that are open again: the next claim returns them
        select p.endpoint_id, q.next_attempt_at
          from (select k.endpoint_id
                  from svc.webhook_parked_endpoints k
                  join svc.webhook_endpoints e on e.id = k.endpoint_id and e.status = 'active'
                 order by k.parked_until limit 1000) p
         cross join lateral (select w.next_attempt_at from svc.webhook_queue w
                              where w.lane = 'parked' and w.endpoint_id = p.endpoint_id
                              order by w.next_attempt_at limit 1) q
        union all -- under way at a worker that is gone: the next claim returns them
        (select l.endpoint_id, l.lease_until from svc.webhook_leases l
          where l.lease_until <= now() order by l.lease_until limit 1000)
    )
    select greatest(extract(epoch from now() - min(greatest(r.next_attempt_at, s.open_since))), 0)::float8
      from r
      join svc.webhook_endpoints e on e.id = r.endpoint_id and e.status = 'active'
      left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
     where s.breaker_until is null and s.throttled_until is null and r.next_attempt_at <= now()
       and e.max_in_flight > (select count(*) from svc.webhook_leases l
                               where l.endpoint_id = e.id and l.lease_until > now())
       and not exists (select from svc.webhook_rates w -- a second longer, until the next claim
                        where w.endpoint_id = e.id and w.full_until > now() - interval '1 s')
) as oldest_due_seconds, (
    {worker_seen}
) as is_worker_seen, e.*, (
    select coalesce(max(age(x.xmin)), 0) from (
        select a.backend_xmin from pg_stat_activity a
         where a.backend_xmin is not null and a.pid <> pg_backend_pid()
           and (a.datname is null or a.datname = current_database()) and a.backend_type <> 'autovacuum worker'
        union all select s.xmin from pg_replication_slots s where s.xmin is not null
        union all select p.transaction from pg_prepared_xacts p where p.database = current_database()
    ) x(xmin)
) as oldest_snapshot_transactions,
       {unsettled} as unsettled_transactions
  from (
    select count(*) filter (where e.status = 'active') as active,
           count(*) filter (where e.status = 'paused') as paused,
           count(*) filter (where e.status = 'disabled') as disabled,
           count(*) filter (where e.status = 'active' and s.failure_streak > 0) as failing,
           count(*) filter (where e.status = 'active' and s.breaker_until is not null) as open_breakers,
           count(*) filter (where e.status = 'active'
                              and e.client_certificate_expires_at < now() + interval '30 days') as ending_certificates
      from svc.webhook_endpoints e left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
) e
