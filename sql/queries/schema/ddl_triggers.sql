-- The event triggers of these names, and true if this role may drop one that is there.
select w.name, e.oid is not null as is_there, coalesce(e.evtenabled in ('D', 'R'), false) as is_disabled,
       coalesce(e.evtevent = w.event and e.evtenabled = 'O' and e.evtfoid = to_regproc(w.function)
                and array(select unnest(e.evttags) order by 1) = array(
                    select unnest(nullif(w.tags, '')::text[]) order by 1), false) as is_right,
       e.oid is null or pg_has_role(e.evtowner, 'USAGE') as is_ours
  from unnest(%(names)s::text[], %(events)s::text[], %(functions)s::text[], %(tags)s::text[])
       with ordinality w(name, event, function, tags, position)
  left join pg_event_trigger e on e.evtname = w.name
 order by w.position
