select n.nspname as schema, c.relname as "table"
  from pg_proc p
  join pg_trigger t on t.tgfoid = p.oid
  join pg_class c on c.oid = t.tgrelid and not c.relispartition
  join pg_namespace n on n.oid = c.relnamespace
 where p.pronamespace = to_regnamespace('svc') and p.proname = %s
 limit 1
