-- Some records of a table as they were at a time, the first fields of each, and the beginning of each value with the
-- digest of a long one
select keys.record_id as key, past."svc key" is not null as is_there, f.field_count, f.members
  from pg_catalog.unnest(%s::text[]) keys(record_id)
  left join lateral {as_of}({time}, keys.record_id) past("svc key") on true
  left join lateral (
    select max(e.field_count)::integer as field_count,
           pg_catalog.json_agg(
               pg_catalog.json_build_array(
                   e.key, case when e.size <= {longest} or e.n in ({redacted}, {unknown}) then e.text end,
                   case when e.size > {longest} and e.n > {own}
                        then left(coalesce(e.whole #>> array[]::text[], e.text), {longest}) end,
                   case when e.size > {longest} and e.n > {own}
                        then encode(sha256(pg_catalog.convert_to(e.text, 'UTF8')), 'hex') end
               ) order by e.n
           ) as members
      from (
        select m.key, m.n, m.value as whole, m.value::text as text, pg_catalog.char_length(m.value::text) as size,
               pg_catalog.count(*) over () as field_count
          from json_each(pg_catalog.row_to_json(past)) with ordinality m(key, value, n)
      ) e
     where e.n <= {own} + {most}
  ) f on past."svc key" is not null
