-- Wait for holds that others are about to place or to lift, and keep further ones waiting until this transaction ends:
-- what it removes is not held then. An older snapshot would not show them.
create or replace function svc.audit_wait_for_holds() returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'entries are removed in a READ COMMITTED transaction only, which sees all holds'
            using errcode = 'SV106', hint = 'Begin it with: begin isolation level read committed.';
    end if;
    lock table svc.audit_holds in share mode;
end
$svc$;
revoke all on function svc.audit_wait_for_holds() from public;
