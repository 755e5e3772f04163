select l.name
  from pragma_index_list(?, 'main') l
 where l."unique" and (
        l.partial or exists (select 1 from pragma_index_xinfo(l.name, 'main') x where x.key and x.cid = -2)
       )
 order by l.name
