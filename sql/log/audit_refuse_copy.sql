-- Refuse what has to be done where the log is written: a copy would give ids that are given there too, and does not
-- know which entries are complete.
-- access: writer, admin
create or replace function svc.audit_refuse_copy() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if svc.audit_is_copy() then
        raise exception 'the log is a copy that a subscription keeps'
            using errcode = 'SV004', hint = 'Do this on the publisher; what it does arrives here.';
    end if;
end
$svc$;
