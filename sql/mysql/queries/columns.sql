select table_schema, table_name, column_name, data_type, column_type, character_set_name, collation_name,
       numeric_precision, datetime_precision, generation_expression
  from information_schema.columns
 where table_schema in ({}) and coalesce(generation_expression, '') not in ('ROW START', 'ROW END')
 order by table_schema, table_name, ordinal_position
