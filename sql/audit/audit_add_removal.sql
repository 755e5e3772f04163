-- Keep the content of an entry that tells of a purge or an erasure, which this transaction has just written.
create or replace function svc.audit_add_removal(p_entry bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off  -- the log's own entries of a day are few
as $svc$
begin
    insert into svc.audit_removals (entry_id, content)
    select l.id, svc.audit_content(l)
      from svc.audit_logs l
     where l.table_name = 'svc.audit_logs' and l."timestamp" >= now() - interval '1 day' and l.id = p_entry;
    if not found then
        raise exception 'entry % is not in the log', p_entry using errcode = 'SV104';
    end if;
end
$svc$;
revoke all on function svc.audit_add_removal(bigint) from public;
