select count(*)
  from svc.webhook_retry(array(
        select d.id
          from svc.webhook_queue q join svc.webhook_deliveries d on d.id = q.delivery_id
         where q.lane = 'later' and d.attempts > 0
    ), '{pending}')
