-- Our triggers of the tables in "relation", each with its clones on the partitions below, each of which can be
-- disabled; and for each of our triggers the states of them all, and whether one of them does not fire.
-- Those are ours whose function is in our schema, on which it depends: pg_proc would be read with all its sources.
-- A partition of the log is made with its own.
family as (
    select t.oid as root, t.tgname as name, t.tgrelid as "table", t.oid, t.tgrelid, t.tgenabled
      from pg_trigger t join relation r on r.oid = t.tgrelid
      join pg_depend d on d.objid = t.tgfoid and d.classid = 'pg_proc'::regclass::oid
     where t.tgparentid = 0::oid and d.refclassid = 'pg_namespace'::regclass::oid
       and d.refobjid = to_regnamespace('svc')::oid
    union all
    select f.root, f.name, f."table", t.oid, t.tgrelid, t.tgenabled
      from family f
      join pg_inherits i on i.inhparent = f.tgrelid and i.inhparent is distinct from to_regclass('svc.audit_logs')::oid
      join pg_trigger t on t.tgrelid = i.inhrelid and t.tgparentid = f.oid
),
fired as (
    select root, name, "table", pg_catalog.array_agg(distinct tgenabled) as enabled,
           bool_or(tgenabled in ('D', 'R')) as is_disabled
      from family group by root, name, "table"
)
