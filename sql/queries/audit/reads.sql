-- The reads of a table, the newest first, among the newest 10,000 before a place. is_match: the record may have been
-- among those that were shown. The last row that was looked at comes too, so that the next page begins there.
with looked as materialized (
    select l.id, l."timestamp", l.actor_id, l.tenant_id, l.db_user, l.after_data, l.context
      from svc.audit_logs l
     where l.table_name = 'svc.audit_reads' and l.record_id >= %(table)s
       and (l.record_id, l."timestamp") <= (%(table)s, coalesce(%(time)s::timestamptz, 'infinity'))
       and (%(tenant)s::text is null or l.tenant_id = %(tenant)s)
       and l."timestamp" >= coalesce(%(since)s::timestamptz, pg_catalog.now() - %(since_age)s::interval, '-infinity')
       and l."timestamp" < coalesce(%(until)s::timestamptz, pg_catalog.now() - %(until_age)s::interval, 'infinity')
       and (%(time)s::timestamptz is null
            or l."timestamp" <= %(time)s and (l."timestamp", l.id) < (%(time)s, %(id)s::bigint))
     order by l.record_id desc, l."timestamp" desc, l.id desc
     limit 10000
),
matches as (
    select l.*, pg_catalog.row_number() over (order by l."timestamp" desc, l.id desc) as place,
           %(key)s::text is null or not jsonb_exists(l.after_data, 'keys') or l.after_data ? 'more'
           or jsonb_exists(l.after_data -> 'keys', k.key) as is_match
      from looked l cross join (select svc.audit_read_key(%(key)s) as key) k
)
select m.id::text as entry_id, m."timestamp" as at, m.actor_id, m.tenant_id, m.db_user, m.is_match,
       m.after_data ->> 'through' as through, (m.after_data ->> 'records')::bigint as records,
       coalesce(jsonb_exists(m.after_data -> 'keys', svc.audit_read_key(%(key)s)), false) as is_certain,
       m.after_data -> 'question' as question, m.context
  from matches m
 where m.is_match or m.place = 10000
 order by m."timestamp" desc, m.id desc
 limit %(limit)s
