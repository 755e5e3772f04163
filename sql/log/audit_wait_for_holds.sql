-- Wait for holds that others are about to place or to lift, and keep further ones waiting until this transaction ends:
-- what it removes is not held then. An older snapshot would not show them. What refers to held records is looked up
-- again unless that was done within p_age.
-- access: admin
create or replace function svc.audit_wait_for_holds(p_age interval default '1 hour') returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform svc.audit_refuse_copy();
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'entries are removed in a READ COMMITTED transaction only, which sees all holds'
            using errcode = 'SV106', hint = 'Begin it with: begin isolation level read committed.';
    end if;
    lock table svc.audit_holds in share mode;
    if exists (
        select from svc.audit_holds h
         where h.lifted_at is null and h.record_id is not null and not exists (
               select from svc.audit_held_records r
                where r.hold_id = h.id and r.table_name = h.table_name and r.record_id = h.record_id
                  and r.followed_at > now() - p_age)
    ) then
        perform svc.audit_follow_holds();
    end if;
end
$svc$;
revoke all on function svc.audit_wait_for_holds(interval) from public;
