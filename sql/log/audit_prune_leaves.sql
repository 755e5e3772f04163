-- Delete what purges removed one by one if the months of it were dropped since, which explains that it is gone: purge
-- by purge, until at least p_limit leaves are deleted. Returns how many. The planner switch leaves the BRIN index.
-- access: admin
create or replace function svc.audit_prune_leaves(p_limit integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '300ms'
set enable_seqscan = off
set jit = off
as $svc$
declare
    v_removals bigint[];
    v_removal bigint;
    v_deleted bigint := 0;
    v_rows bigint;
begin
    v_removals := array(
        with removal as (
            select p.entry_id as id, p.content::jsonb -> 2 as facts from svc.audit_removals p
        ),
        dropped as (
            select (m.facts ->> 'from')::timestamptz as start, (m.facts ->> 'before')::timestamptz as ending
              from removal m where m.facts ? 'from'
        )
        select distinct r.removal
          from dropped d
          join svc.audit_removed_leaves r on r."timestamp" >= d.start and r."timestamp" < d.ending
          join removal m on m.id = r.removal and m.facts ? 'partition'  -- what was erased is still compared
         where not exists (
               select from svc.audit_removed_leaves o
                where o.removal = r.removal and not exists (
                      select from dropped d where o."timestamp" >= d.start and o."timestamp" < d.ending))
    );
    if v_removals = '{}' then
        return 0;
    end if;
    -- only the owner may, and only this transaction sees it
    alter table svc.audit_removed_leaves disable trigger audit_guard_row;
    foreach v_removal in array v_removals loop
        delete from svc.audit_removed_leaves r where r.removal = v_removal;
        get diagnostics v_rows = row_count;
        v_deleted := v_deleted + v_rows;
        exit when v_deleted >= p_limit;
    end loop;
    alter table svc.audit_removed_leaves enable always trigger audit_guard_row;
    return v_deleted;
end
$svc$;
revoke all on function svc.audit_prune_leaves(integer) from public;
