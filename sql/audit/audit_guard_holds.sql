-- Refuse every change of a hold except its end.
create or replace function svc.audit_guard_holds() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if tg_op = 'UPDATE' and old.lifted_at is null and new.lifted_at is not null
       and (new.id, new.table_name, new.record_id, new.reason, new.held_at, new.held_by)
           is not distinct from (old.id, old.table_name, old.record_id, old.reason, old.held_at, old.held_by) then
        return new;
    end if;
    raise exception '% of svc.audit_holds refused: a hold ends by being lifted', tg_op
        using errcode = 'SV001', hint = 'Use svc-pg hold with --lift.';
end
$svc$;
