-- The time of the first entry after a place of the log of the transactions from one number on and before another; null
-- if there is none. Entries stand in the log about as they were written, so that few lie before the first ones found.
-- access: writer, reader, admin
create or replace function svc.audit_transaction_first(
    p_from bigint, p_before bigint, p_since timestamptz, p_since_id bigint
) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_first timestamptz := timestamptz 'infinity';
    v_most integer := 250;
    v_found record;
begin
    loop
        v_found := svc.audit_transaction_probe(
            p_from, p_before, p_since, p_since_id, v_first,
            case when v_first = 'infinity' then 9223372036854775807 else 0 end, v_most
        );
        v_first := least(v_first, v_found.first);
        exit when v_found.entries < v_most;
        v_most := least(v_most::bigint * 8, 2147483647);
    end loop;
    return case when v_first < 'infinity' then v_first end;
end
$svc$;
