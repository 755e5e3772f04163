-- If each column of a key has a type of PostgreSQL's own and never a null: then rows are found by a comparison of it
select count(*) = pg_catalog.cardinality(%(key)s::text[]) as has_plain_key
  from pg_attribute a
 where a.attrelid = to_regclass(%(table)s) and a.attname = any (%(key)s::text[]) and a.atttypid < 16384 and a.attnotnull
   and not exists (
       select from pg_constraint k
        where k.conrelid = a.attrelid and k.contype = 'n' and not k.convalidated and a.attnum = any (k.conkey)
   )
