select (select count(*) from (select from svc.webhook_queue q where q.lane = 'due' limit 10000) c) as due,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'later' limit 10000) c) as later,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'behind' limit 10000) c) as behind,
       (select count(*) from (select from svc.webhook_queue q where q.lane = 'parked' limit 10000) c) as parked,
       (select count(*) from (select from svc.webhook_leases l where l.lease_until > now() limit 10000) c) as in_flight
