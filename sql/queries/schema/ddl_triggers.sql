-- The event triggers of these names, and true if this role may drop one that is there. Whoever can act as the owner of
-- their functions runs code in the DDL of every role: the roles that can, and could not before. A function that is
-- there has its owner until an install by a superuser corrects it.
with me as (
    select r.oid, r.rolname, r.rolsuper,
           r.rolsuper or r.rolcreaterole or exists (
               select from pg_roles m where m.rolname = any(%(managers)s) and pg_has_role(r.oid, m.oid, 'MEMBER')
           ) as is_manager
      from pg_roles r where r.rolname = current_user
),
owners as (
    select o.oid, o.rolname, o.rolcanlogin
      from pg_roles o
      left join pg_namespace n on n.nspname = 'svc'
     where not o.rolsuper
       and (o.oid = any (array(  -- read once, not for each role
               select p.proowner
                 from pg_proc p join pg_namespace s on s.oid = p.pronamespace and s.nspname = 'svc' cross join me
                where 'svc.' || p.proname = any(%(functions)s) and not me.rolsuper))
            or case when %(has_roles)s then o.rolname = 'svc_owner'
                    when n.oid is null or pg_get_userbyid(n.nspowner) = 'svc_owner' then o.rolname = current_user
                    else o.oid = n.nspowner end)
),
acting as (
    select r.oid, r.rolname from pg_roles r join owners o on {acts_as}
     where not r.rolsuper
     union
    select me.oid, me.rolname from me where not me.rolsuper and not exists (select from owners)
                                        and not exists (select from pg_namespace where nspname = 'svc')
)
select w.name, e.oid is not null as is_there, coalesce(e.evtenabled in ('D', 'R'), false) as is_disabled,
       coalesce(e.evtevent = w.event and e.evtenabled in ('O', 'A') and e.evtfoid = to_regproc(w.function)
                and array(select unnest(e.evttags) order by 1) = array(
                    select unnest(nullif(w.tags, '')::text[]) order by 1), false) as is_right,
       e.oid is null or pg_has_role(e.evtowner, 'USAGE') as is_ours,
       me.rolsuper as is_superuser, me.is_manager,
       array(select a.rolname::text from acting a order by 1) as acting,
       array(select a.rolname::text from acting a where not pg_has_role(a.oid, me.oid, 'MEMBER') order by 1)
           as acting_past_me,
       array(select a.rolname::text from acting a where not pg_has_role(a.oid, e.evtowner, 'MEMBER') order by 1)
           as acting_past_owner
  from unnest(%(names)s::text[], %(events)s::text[], %(functions)s::text[], %(tags)s::text[])
       with ordinality w(name, event, function, tags, position)
 cross join me
  left join pg_event_trigger e on e.evtname = w.name
 order by w.position
