select grantee, null, null, privilege_type from information_schema.user_privileges where grantee in ({0})
union all
select grantee, table_schema, null, privilege_type from information_schema.schema_privileges where grantee in ({0})
union all
select grantee, table_schema, table_name, privilege_type from information_schema.table_privileges
 where grantee in ({0})
