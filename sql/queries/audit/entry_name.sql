-- The name of the table c in the schema n, as svc_pg.database.table_names spells it
(
    select string_agg(case when part ~ '[."]' then '"' || replace(part, '"', '""') || '"' else part end, '.'
                      order by ordinality)
      from pg_catalog.unnest(array[n.nspname::text, c.relname::text]) with ordinality u(part, ordinality)
)
