-- The times of the first and the last entry of the transactions from one number on and before another, without reading
-- those in between.
-- access: writer, reader, admin
create or replace function svc.audit_transaction_times(
    p_from bigint, p_before bigint, out first timestamptz, out last timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 1000;
    v_found record;
begin
    v_found := svc.audit_transaction_probe(
        p_from, p_before, '-infinity', 0, 'infinity', 9223372036854775807, v_most
    );
    first := v_found.first;
    last := v_found.last;
    if v_found.entries = v_most then
        first := svc.audit_transaction_first(p_from, p_before, '-infinity', 0);
        last := svc.audit_transaction_last(p_from, p_before, 'infinity', 9223372036854775807);
    end if;
end
$svc$;
