-- True if a table, or one record of it, has at most so many entries: then the index of records finds all at once.
-- access: writer, reader, admin
create or replace function svc.audit_is_rare(p_table text, p_record text, p_most integer) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    select p_most >= (select count(*) from svc.audit_entries_of(p_table, p_record, p_most + 1))
$svc$;
