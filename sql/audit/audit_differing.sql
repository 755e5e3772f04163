-- The fields of a row whose values the log knows otherwise. Those that are redacted in one of the images alone, that
-- the table has no longer or whose value is null and was not recorded, do not count; nor does what was erased.
-- access: writer, admin
create or replace function svc.audit_differing(
    p_known jsonb, p_known_redacted text[], p_row jsonb, p_row_redacted text[], p_ignored text[]
) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array(
        select r.key
          from jsonb_each(p_row) r
         where '*' <> all (coalesce(p_known_redacted, '{}') || coalesce(p_row_redacted, '{}'))
           and r.key <> all (p_ignored)
           and (r.key = any (coalesce(p_known_redacted, '{}'))) = (r.key = any (coalesce(p_row_redacted, '{}')))
           and case when p_known ? r.key then p_known -> r.key <> r.value else r.value <> 'null' end
         order by r.key collate "C"
    )
$svc$;
revoke all on function svc.audit_differing(jsonb, text[], jsonb, text[], text[]) from public;
