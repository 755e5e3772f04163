-- The number of tables in each state, of those that {tables} selects, and the first schemas by name.
select count(*) filter (where c.is_table) as tables, count(*) filter (where c.state = 'audited') as audited,
       count(*) filter (where c.state = 'drifting') as drifting,
       count(*) filter (where c.is_table and c.state = 'not_audited') as not_audited,
       count(*) filter (where c.reason = 'excluded') as excluded,
       count(*) filter (where not c.is_table) as others,
       coalesce((pg_catalog.array_agg(distinct c.schema order by c.schema))[1:%s], '{}') as schemas
  from (
    select c.*, c.kind is null or c.kind in ('table', 'partitioned_table') as is_table from ({tables}) c
  ) c
