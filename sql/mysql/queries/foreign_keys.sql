select k.constraint_schema, k.constraint_name, k.table_schema, k.table_name, k.column_name, k.referenced_table_schema,
       k.referenced_table_name, k.referenced_column_name, r.update_rule, r.delete_rule
  from information_schema.referential_constraints r
  join information_schema.key_column_usage k
    on k.constraint_schema = r.constraint_schema and k.constraint_name = r.constraint_name
   and k.table_name = r.table_name
 where k.referenced_table_name is not null
   and (r.update_rule in ('CASCADE', 'SET NULL') or r.delete_rule in ('CASCADE', 'SET NULL'))
 order by k.constraint_schema, k.table_name, k.constraint_name, k.ordinal_position
