-- Ids as text: a conversion to UUID and back would cost twice for each delivery. The first few have their messages,
-- if these are small, which saves an idle worker a round trip; "offset 0" keeps the planner from reading all
-- messages.
select c.delivery_id::text, c.lease_id::text, c.attempt, c.max_attempts, c.endpoint_id::text, c.endpoint_version,
       c.message_id::text, m.body, m.trace_context
  from svc.webhook_claim(%s, %s, %s) with ordinality c
  left join lateral (
    select svc.webhook_envelope(m) as body, m.trace_context
      from svc.webhook_messages m
     where m.id = c.message_id and c.ordinality <= 8 and octet_length(m.payload::text) <= 2048 offset 0
  ) m on true
