-- The number of changes by day, table, operation and actor. Days come first and entries are counted day by day, so
-- that a condition on day prunes partitions: a sum over the whole log would read all of it.
-- access: reader, admin
create or replace view svc.audit_activity_daily as
select d.day::date as day, a.table_name, a.operation::text as operation, a.actor_id, a.tenant_id, a.entries
  from (
    select min(l."timestamp") at time zone 'UTC' as first, max(l."timestamp") at time zone 'UTC' as last
      from svc.audit_logs l
  ) span
 cross join lateral generate_series(date_trunc('day', span.first), span.last, interval '1 day') d(day)
 cross join lateral (
    select l.table_name, l.operation, l.actor_id, l.tenant_id, count(*) as entries
      from svc.audit_logs l
     where l."timestamp" >= d.day at time zone 'UTC'
       and l."timestamp" < (d.day + interval '1 day') at time zone 'UTC'
     group by l.table_name, l.operation, l.actor_id, l.tenant_id
  ) a;
comment on view svc.audit_activity_daily is
    'The number of entries by day, table, operation, actor and tenant.';
comment on column svc.audit_activity_daily.day is 'The day in UTC.';
comment on column svc.audit_activity_daily.table_name is 'The table, with its schema: public.customer.';
comment on column svc.audit_activity_daily.operation is
    'INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT, GONE, DDL or READ.';
comment on column svc.audit_activity_daily.actor_id is 'The actor, as the application set it.';
comment on column svc.audit_activity_daily.tenant_id is 'The tenant, as the application set it.';
comment on column svc.audit_activity_daily.entries is 'The number of entries.';
