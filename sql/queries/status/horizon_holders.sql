-- Readers stop at the oldest transaction that has a number, in whatever database it runs; vacuum at the oldest
-- snapshot. A role without pg_read_all_stats sees neither of other roles' sessions, but it sees where readers stop.
with seen as (
    select 'session' as kind, a.pid, coalesce(a.application_name, '') as name, a.datname::text as database,
           a.usename::text as "user", a.state, extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds,
           greatest(age(a.backend_xid), age(a.backend_xmin))::bigint as transactions,
           a.backend_xid is not null as holds_log
      from pg_stat_activity a
     where a.pid <> pg_backend_pid() and a.backend_type <> 'autovacuum worker'
       and (a.backend_xid is not null
            or a.backend_xmin is not null and (a.datname is null or a.datname = current_database()))
    union all
    select 'prepared', null, p.gid, p.database::text, p.owner::text, null,
           extract(epoch from clock_timestamp() - p.prepared)::float8, age(p.transaction), true
      from pg_prepared_xacts p
    union all
    select 'slot', s.active_pid, s.slot_name::text, s.database::text, null,
           case when s.active then 'active' else 'inactive' end, null, age(s.xmin), false
      from pg_replication_slots s where s.xmin is not null
),
holder as (
    select * from seen
    union all
    select 'hidden', null, '', null, null, null, null, u.transactions, true
      from (select txid_snapshot_xmax(s) - txid_snapshot_xmin(s) as transactions from txid_current_snapshot() s) u
     where exists (select from pg_stat_activity a where a.query = '<insufficient privilege>')
       and u.transactions > (select coalesce(max(s.transactions), 0) from seen s where s.holds_log)
)
select h.* from holder h order by h.holds_log desc, h.transactions desc, h.kind, h.name limit 20
