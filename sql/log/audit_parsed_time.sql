-- A time as the log's own entries write it; null for another text, which somebody wrote into an entry by hand.
-- access: writer, reader, admin
create or replace function svc.audit_parsed_time(p_text text) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    return p_text::timestamptz;
exception when data_exception then
    return null;
end
$svc$;
