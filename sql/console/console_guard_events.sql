-- Refuse every change of the console's events, but not the end of those that are older than the 90 days for which they
-- are kept: svc.console_prune.
create or replace function svc.console_guard_events() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if tg_op = 'DELETE' and old.occurred_at < now() - interval '90 days' then
        return old;
    end if;
    raise exception '% of svc.console_events refused: the console''s events are append-only', tg_op
        using errcode = 'SV001', hint = 'Maintenance removes them after 90 days.';
end
$svc$;
