-- Ids begin with a time, so those of the past are others; nothing but the rows below knows them
update svc.webhook_messages m set id = x.id, created_at = x.at from made_up_message x where m.id = x.old_id;
update svc.webhook_deliveries d
   set id = x.id, message_id = x.message_id, status = x.status, attempts = x.attempts, created_at = x.at,
       updated_at = coalesce(x.finished_at, x.at), next_attempt_at = x.next_attempt_at, finished_at = x.finished_at,
       failure = nullif(nullif(x.status, 'pending'), 'delivered'), last_status_code = x.last_status_code
  from made_up_delivery x where d.id = x.old_id;
delete from svc.webhook_queue q using made_up_delivery x where q.delivery_id = x.old_id and x.status <> 'pending';
update svc.webhook_queue q
   set delivery_id = x.id, next_attempt_at = x.next_attempt_at,
       lane = case when x.next_attempt_at > now() then 'later'::svc.webhook_lane else 'due' end
  from made_up_delivery x where q.delivery_id = x.old_id;
insert into svc.webhook_delivery_attempts (
    delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_headers,
    response_body, remote_ip, worker
)
select delivery_id, endpoint_id, attempt, started_at, duration_ms, outcome, status_code, response_headers,
       response_body, '203.0.113.10', 'worker-1'
  from made_up_attempt order by started_at;
update svc.webhook_endpoint_state s
   set last_success_at = x.success_at, last_failure_at = x.failure_at,
       last_failure = 'the endpoint answered ' || x.failure_code,
       failure_streak = x.streak, failing_since = case when x.streak > 0 then x.failing_since end,
       outage_since = case when x.streak >= 10 then x.failing_since end,
       outage_told_at = case when x.streak >= 10 then x.failing_since + interval '3 minutes' end,
       first_failure_at = case when x.streak > 0 then x.failing_since end,
       breaker_opened_at = case when x.streak >= 10 then array[x.failure_at] else '{}' end,
       breaker_opened_until = case when x.streak >= 10 then array[x.failure_at + interval '30 min'] else '{}' end
  from (
    select a.endpoint_id, l.success_at, max(a.started_at) filter (where a.outcome <> 'success') as failure_at,
           max(a.status_code) filter (where a.outcome <> 'success') as failure_code,
           count(*) filter (where a.outcome <> 'success' and a.started_at > l.success_at)::integer as streak,
           min(a.started_at) filter (where a.started_at > l.success_at) as failing_since
      from made_up_attempt a
      join (
        select endpoint_id, max(started_at) filter (where outcome = 'success') as success_at
          from made_up_attempt group by endpoint_id
      ) l on l.endpoint_id = a.endpoint_id
     group by a.endpoint_id, l.success_at
  ) x where s.endpoint_id = x.endpoint_id;
