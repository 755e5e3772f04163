-- The first of some tables whose owner the installer cannot act as
select o.rolname::text as name, o.rolsuper as is_superuser, c.oid::regclass::text as "table"
  from unnest(%(schemas)s::text[], %(tables)s::text[]) with ordinality wanted(schema_name, table_name, n)
  join pg_namespace n on n.nspname = wanted.schema_name
  join pg_class c on c.relnamespace = n.oid and c.relname = wanted.table_name
  join pg_roles o on o.oid = c.relowner
 where not (pg_has_role(c.relowner, 'USAGE') and pg_has_role(c.relowner, %(needed)s))
 order by wanted.n limit 1
