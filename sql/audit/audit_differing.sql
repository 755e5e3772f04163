-- The fields of a row whose values the log knows otherwise. Those that are redacted in another way than the log has
-- them, that the table has no longer or whose value is null and was not recorded, do not count; nor does what was
-- erased. Of a large value one side may have the digest alone; see audit_cap.
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
         cross join lateral (
            select p_known -> r.key as known, r.value as present,
                   coalesce(jsonb_typeof(p_known -> r.key) = 'object' and p_known -> r.key ?& '{oversized,sha256}', false)
                       as was_digest,
                   jsonb_typeof(r.value) = 'object' and r.value ?& '{oversized,sha256}' as is_digest
         ) v
         where '*' <> all (coalesce(p_known_redacted, '{}') || coalesce(p_row_redacted, '{}'))
           and r.key <> all (p_ignored)
           and case when v.known is null then v.present <> 'null'
                    when v.was_digest and not v.is_digest then
                        v.known ->> 'sha256' <> encode(sha256(convert_to(v.present::text, 'UTF8')), 'hex')
                    when v.is_digest and not v.was_digest then
                        v.present ->> 'sha256' <> encode(sha256(convert_to(v.known::text, 'UTF8')), 'hex')
                    else v.known <> v.present end
           and r.key <> all (svc.audit_changed_redactions(p_known, p_known_redacted, p_row, p_row_redacted))
         order by r.key collate "C"
    )
$svc$;
revoke all on function svc.audit_differing(jsonb, text[], jsonb, text[], text[]) from public;
