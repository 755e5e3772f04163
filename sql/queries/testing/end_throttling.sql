-- as often as a failure is retried
with ended as (
    update svc.webhook_endpoint_state s
       set throttled_until = null
     where s.throttled_until is not null
       and exists (select from svc.webhook_deliveries d
                    where d.endpoint_id = s.endpoint_id and d.status = 'pending'
                      and d.throttled_attempts between 1 and d.max_attempts - 1)
    returning s.endpoint_id
)
select svc.webhook_notify() from ended limit 1
