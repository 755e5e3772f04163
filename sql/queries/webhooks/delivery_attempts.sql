select a.*
  from svc.webhook_existing_delivery(%s) d(id) cross join lateral (
    select a.id::text, a.attempt, a.cause, a.started_at, a.duration_ms, a.outcome, a.status_code, a.error,
           a.response_headers, a.response_body, host(a.remote_ip) as remote_ip, a.worker
      from svc.webhook_delivery_attempts a
     where a.delivery_id = d.id
     order by a.id offset 0 -- so that the function runs even if there are no attempts
  ) a
