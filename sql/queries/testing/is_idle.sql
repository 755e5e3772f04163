select not exists (select from svc.webhook_leases)
   and not exists (
        select from svc.webhook_queue q
          left join svc.webhook_endpoints e on e.id = q.endpoint_id
          left join svc.webhook_endpoint_state s on s.endpoint_id = e.id
          left join svc.webhook_deliveries d on d.id = q.delivery_id
         where (q.lane = 'due' or q.lane = 'later' and (q.next_attempt_at <= now() or d.attempts > 0))
           and e.status is distinct from 'paused'
           and greatest(s.breaker_until, s.throttled_until, now()) = now()
   )
