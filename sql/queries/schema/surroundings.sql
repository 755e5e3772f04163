select current_setting('server_version_num')::integer as server_version,
       pg_is_in_recovery() as is_standby,
       current_setting('transaction_read_only')::boolean as is_read_only,
       me.rolname::text as installer,
       me.rolsuper as is_superuser,
       me.rolsuper or me.rolcreaterole as creates_roles,
       has_database_privilege(current_database(), 'CREATE') as creates_schemas,
       pg_get_userbyid(n.nspowner)::text as schema_owner,
       n.oid is not null and pg_has_role(n.nspowner, 'USAGE') as acts_as_schema_owner,
       coalesce((select rolsuper from pg_roles where oid = n.nspowner), false) as is_schema_of_superuser,
       array(select rolname::text from pg_roles) as roles,
       (select coalesce(jsonb_object_agg(rolname, concat_ws(
                   ' ', case when rolsuper then 'nosuperuser' end, case when rolcreaterole then 'nocreaterole' end,
                   case when rolbypassrls then 'nobypassrls' end, case when rolreplication then 'noreplication' end,
                   case when rolcanlogin and is_closed then 'nologin' end
               )), '{}')
          from pg_roles
         cross join lateral (
            select rolname = any(%(closed)s) or rolname ~ %(capturer)s and pg_roles.oid in (
                       select p.proowner from pg_proc p where p.pronamespace = n.oid) as is_closed
         ) c
         where (is_closed or rolname = any(%(svc_roles)s))
           and (rolsuper or rolcreaterole or rolbypassrls or rolreplication or rolcanlogin and is_closed)) as excess,
       array(select rolname::text from pg_roles
              where rolname = any(%(owners)s)
                and not (pg_has_role(oid, 'USAGE') and pg_has_role(oid, case
                    when current_setting('server_version_num')::integer >= %(options_since)s then 'SET' else 'MEMBER'
                end)) order by rolname) as lacking,
       array(select relname::text from pg_class where relnamespace = n.oid and relkind in ('r', 'p')) as relations,
       exists (select from pg_proc where pronamespace = n.oid and proname = 'audit_guard') as has_guard,
       exists (select from pg_class where relnamespace = n.oid and relname = 'audit_hash_key'
                  and has_table_privilege(oid, 'SELECT')) as sees_hash_key,
       exists (select from pg_type t
                where t.typowner <> all (array(select oid from pg_roles where rolsuper))  -- read once
                  and t.typtype in ('b', 'e', 'm', 'r') and t.typcategory <> 'A'
                  and t.typnamespace is distinct from n.oid) as has_user_types,
{log_indexes}
  from pg_roles me left join pg_namespace n on n.nspname = 'svc'
 where me.rolname = current_user
