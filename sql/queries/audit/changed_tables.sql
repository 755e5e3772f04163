select n.nspname as schema, c.relname as "table",
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated <> 'v'
              order by a.attnum) as columns,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 'v') as virtual,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = 's') as generated,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attidentity = 'a') as fixed,
       array(select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and (t.typname in ('json', 'jsonb') or t.typtype = 'd' and t.typcategory = 'U')) as json_columns,
       coalesce((
           select pg_catalog.array_agg(a.attname::text order by k.position)
             from (
               select i.indkey, i.indnkeyatts from pg_index i
                where i.indrelid = c.oid and i.indisunique and i.indpred is null and i.indexprs is null
                order by i.indisprimary desc, i.indnkeyatts, i.indexrelid limit 1
             ) i
            cross join lateral pg_catalog.unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
             join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
            where k.position <= i.indnkeyatts
       ), '{}') as key,
       (select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
                   'schema', cn.nspname, 'table', cc.relname, 'deletes', f.confdeltype <> all ('{a,r}'),
                   'columns', array(select a.attname
                                      from pg_catalog.unnest(f.conkey) with ordinality k(attnum, position)
                                      join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.attnum
                                     order by k.position),
                   'of', array(select a.attname from pg_catalog.unnest(f.confkey) with ordinality k(attnum, position)
                                 join pg_attribute a on a.attrelid = f.confrelid and a.attnum = k.attnum
                                order by k.position)) order by f.oid), '[]')
          from pg_constraint f join pg_class cc on cc.oid = f.conrelid join pg_namespace cn on cn.oid = cc.relnamespace
         where f.confrelid = c.oid and f.contype = 'f' and f.conparentid = 0::oid) as referring
  from rows from (pg_catalog.unnest(%s::text[]), pg_catalog.unnest(%s::text[])) wanted(schema, "table")
  join pg_namespace n on n.nspname = wanted.schema
  join pg_class c on c.relnamespace = n.oid and c.relname = wanted."table" and c.relkind in ('r', 'p')
