select m.created_at = now() as is_new,
       (select count(*) from svc.webhook_deliveries d
         where d.message_id = m.id and not (d.status = 'failed' and d.attempts = 0)) as endpoints,
       (select count(*) from svc.webhook_deliveries d
         where d.message_id = m.id and d.status = 'failed' and d.attempts = 0) as undecided
  from svc.webhook_messages m
 where m.id = %s
