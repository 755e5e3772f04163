-- The fields of a row that the log cannot be compared with, because they were redacted in another way, or in one of the
-- images alone. An entry does not tell the way, but its values do.
-- access: writer, admin
create or replace function svc.audit_changed_redactions(
    p_known jsonb, p_known_redacted text[], p_row jsonb, p_row_redacted text[]
) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array(
        select r.key
          from jsonb_each_text(p_row) r
         cross join lateral (
            select r.key = any (coalesce(p_known_redacted, '{}')) as was,
                   r.key = any (coalesce(p_row_redacted, '{}')) as now
         ) redacted
         cross join lateral (
            select array_agg(case when not d.is_there then 'remove' when d.value is null then 'null'
                                  when d.value = '[masked]' then 'mask' when d.value ~ '^[0-9a-f]{64}$' then 'hash'
                                  when d.value like '****%' then 'last4' else 'other' end) as ways
              from (values (p_known ? r.key, p_known ->> r.key), (true, r.value)) d(is_there, value)
         ) disguise
         where redacted.was <> redacted.now
            or redacted.was and disguise.ways[1] <> disguise.ways[2]
               -- a null has neither a hash nor last characters
               and not (disguise.ways <@ '{null,hash,last4}' and 'null' = any (disguise.ways))
         order by r.key collate "C"
    )
$svc$;
revoke all on function svc.audit_changed_redactions(jsonb, text[], jsonb, text[]) from public;
