-- Keep the timestamp of a seal that an authority gave. Returns false, and keeps nothing, if the seal has one already,
-- or is not in the log.
-- access: admin
create or replace function svc.audit_add_seal_timestamp(p_seal bigint, p_answer bytea) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $svc$
begin
    perform svc.audit_refuse_copy();
    insert into svc.audit_seal_timestamps (seal, answer)
    select s.number, p_answer from svc.audit_seals s where s.number = p_seal
        on conflict (seal) do nothing;
    return found;
end
$svc$;
revoke all on function svc.audit_add_seal_timestamp(bigint, bytea) from public;
