-- Delete up to p_limit leaves of entries that purges removed one by one and whose month was dropped since, which
-- explains that they are gone. Returns how many. The planner switch leaves the BRIN index.
create or replace function svc.audit_prune_leaves(p_limit integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms'
set enable_seqscan = off
as $svc$
declare
    v_ids bigint[];
begin
    v_ids := array(
        select r.id
          from (
            select (m.facts ->> 'from')::timestamptz as start, (m.facts ->> 'before')::timestamptz as ending
              from (select p.content::jsonb -> 11 as facts from svc.audit_removals p) m
             where m.facts ? 'from'
          ) dropped
          join svc.audit_removed_leaves r on r."timestamp" >= dropped.start and r."timestamp" < dropped.ending
         limit p_limit
    );
    if v_ids = '{}' then
        return 0;
    end if;
    -- only the owner may, and only this transaction sees it
    alter table svc.audit_removed_leaves disable trigger audit_guard_row;
    delete from svc.audit_removed_leaves r where r.id = any (v_ids);
    alter table svc.audit_removed_leaves enable always trigger audit_guard_row;
    return cardinality(v_ids);
end
$svc$;
revoke all on function svc.audit_prune_leaves(integer) from public;
