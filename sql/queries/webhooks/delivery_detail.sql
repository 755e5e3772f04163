select d.id::text, d.message_id::text, d.endpoint_id::text, d.event_name, d.status, d.attempts, d.lost_attempts,
       d.throttled_attempts, d.max_attempts, d.created_at, d.updated_at, d.next_attempt_at, d.finished_at,
       d.last_status_code, d.last_error, m.tenant, m.idempotency_key, m.key, m.sequence, m.copy_of::text,
       m.xact_id::text, m.payload
  from svc.webhook_deliveries d left join svc.webhook_messages m on m.id = d.message_id
 where d.id = %s
