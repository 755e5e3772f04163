-- The records of a person, of which an erasure erases entries, whose rows are still in their tables as the log knows
-- it: their number by table, among the first records, and whether there are more of these. A record that is another
-- person's by now is left out. One whose key was erased before is the same as the one with the key.
with recursive found as (
    select e.known_as as name,
           (pg_catalog.array_agg(e.table_name order by e.entry_timestamp desc, e.entry_id desc))[1] as table_name,
           (pg_catalog.array_agg(e.record_id order by e.entry_timestamp desc, e.entry_id desc))[1] as record_id,
           pg_catalog.row_number() over (order by e.known_as <> %(table)s, e.known_as) as n
      from svc.audit_erasable(%(table)s, %(key)s) e
     where e.record_id is not null and e.known_as <> 'svc.audit_holds'
     group by e.known_as, svc.audit_erased_key(e.record_id)
     order by n limit %(most)s + 1
),
present as materialized (
    select f.name, f.record_id, known.state
      from found f cross join lateral svc.audit_last_known(f.table_name, f.record_id) known
     where f.n <= %(most)s and known.state is not null
),
referring as materialized (
    select p.name, p.record_id, r.of_table, svc.audit_key_of(p.state, r.columns) as of_record,
           p.state = '{"erased": true}' as is_erased
      from present p join svc.audit_erasure() r on r.table_name = p.name
),
theirs (name, record_id) as (
    select %(table)s::text, %(key)s::text
    union
    select p.name, p.record_id from present p where p.name = %(table)s
    union
    select r.name, r.record_id
      from theirs t join referring r on r.of_table = t.name and (r.of_record = t.record_id or r.is_erased)
)
select coalesce(pg_catalog.jsonb_object_agg(c.name, c.number), '{}') as tables,
       (select pg_catalog.count(*) > %(most)s from found) as is_partial
  from (
    select p.name, pg_catalog.count(*) as number
      from present p join theirs t on t.name = p.name and t.record_id = p.record_id
     group by p.name
  ) c
