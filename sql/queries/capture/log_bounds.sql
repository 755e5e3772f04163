-- The times at which partitions of the log begin or end, the newest first, as texts that any session reads alike
select coalesce(
           pg_catalog.array_agg(pg_catalog.to_json(b.bound) #>> '{}' order by b.bound desc), '{}'
       ) as bounds
  from (
    select svc.audit_partition_start(i.inhrelid) from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass
    union
    select svc.audit_partition_end(i.inhrelid) from pg_inherits i where i.inhparent = 'svc.audit_logs'::regclass
  ) b(bound)
 where isfinite(b.bound)
