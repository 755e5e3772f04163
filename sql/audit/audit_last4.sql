-- The last four characters of a text of at least eight, since those of a shorter one would tell too much. Has no SET,
-- so that it can be inlined: its callers pin the search_path.
-- access: owner, writer, admin
create or replace function svc.audit_last4(p_value text) returns text
language sql immutable parallel safe
as $svc$
    select case when length(p_value) >= 8 then '****' || right(p_value, 4) when p_value is not null then '****' end
$svc$;
