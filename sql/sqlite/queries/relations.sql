select l.name, l.type, l.wr, l.strict, s.sql
  from pragma_table_list l
  left join main.sqlite_schema s on s.name = l.name and s.type in ('table', 'view')
 where l.schema = 'main' and l.name not like 'sqlite\_%' escape '\'
 order by l.name
