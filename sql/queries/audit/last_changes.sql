-- One text, so that drivers agree on all of it. Texts are cut here: a value may have megabytes. Each snapshot is
-- taken apart once, because it may have to be decompressed each time.
select pg_catalog.json_build_object(
           'id', audit_logs.id::text,
           'timestamp', audit_logs."timestamp",
           'seconds', extract(epoch from clock_timestamp() - audit_logs."timestamp"),
           'operation', audit_logs.operation,
           'actor_id', left(audit_logs.actor_id, 1000),
           'db_user', audit_logs.db_user,
           'label', left(audit_logs.label, 201),
           'severity', audit_logs.severity,
           'description', left(audit_logs.description, 201),
           'field_count', pg_catalog.cardinality(audit_logs.changed_fields),
           'fields', (
               select pg_catalog.json_agg(pg_catalog.json_build_object(
                          'name', left(c.name, 201),
                          'before', left(b.value operator(pg_catalog.#>>) '{}', 201),
                          'after', left(a.value operator(pg_catalog.#>>) '{}', 201),
                          'before_type', jsonb_typeof(b.value),
                          'after_type', jsonb_typeof(a.value),
                          'is_redacted', coalesce(
                              audit_logs.redacted_fields operator(pg_catalog.&&) array[c.name, '*'], false
                          )
                      ) order by c.position)
                 from pg_catalog.unnest(audit_logs.changed_fields) with ordinality c(name, position)
                 left join jsonb_each(
                     case jsonb_typeof(audit_logs.before_data) when 'object' then audit_logs.before_data end
                 ) b on b.key = c.name
                 left join jsonb_each(
                     case jsonb_typeof(audit_logs.after_data) when 'object' then audit_logs.after_data end
                 ) a on a.key = c.name
                where c.position <= 20
           )
       )::text as change
