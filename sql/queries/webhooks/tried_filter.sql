-- The newest messages that an endpoint with these events would get, each with the answer of a filter: null if it meets
-- it, empty if it does not, otherwise why that cannot be told. Of the newest 1,000 messages, of a tenant or of all.
-- When the time of a trial is over, no further payload is read.
with newest as materialized (
    (select m.id, m.event_name from svc.webhook_messages m
      where %(tenant)s::text is null
      order by m.id desc limit 1000)
    union all
    (select m.id, m.event_name from svc.webhook_messages m
      where m.tenant = %(tenant)s::text
      order by m.tenant desc, m.id desc limit 1000) -- only the index of tenants has this order
),
chosen as materialized (
    select n.id from newest n
     where svc.webhook_patterns(n.event_name) && %(events)s::text[]
     order by n.id desc limit %(most)s
)
select m.id::text, m.event_name, m.tenant, m.created_at,
       case when clock_timestamp() > statement_timestamp() + %(longest)s
            then 'not tried: the time of a trial was over'
            else (
                select svc.webhook_filter_problem(
                           %(filter)s, svc.webhook_filter_steps(%(filter)s), d.document, d.most_values, d.problem,
                           'infinity'
                       )
                  from svc.webhook_document(m.payload) d
            )
            end as answer
  from chosen c
 cross join lateral (select w.* from svc.webhook_messages w where w.id = c.id offset 0) m
 order by m.id desc
