-- The time of the last entry before a place of the log of the transactions from one number on and before another; null
-- if there is none. Halves the time in which it must be.
-- access: writer, reader, admin
create or replace function svc.audit_transaction_last(
    p_from bigint, p_before bigint, p_until timestamptz, p_until_id bigint
) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_most constant integer := 250;
    v_last timestamptz := timestamptz '-infinity'; -- the last that is known
    v_until timestamptz := p_until; -- none is later
    v_until_id bigint := p_until_id;
    v_middle timestamptz;
    v_step interval := interval '1 s';
    v_found record;
begin
    for v_round in 1..64 loop
        v_found := svc.audit_transaction_probe(
            p_from, p_before, v_last, case when v_last = '-infinity' then 0 else 9223372036854775807 end,
            v_until, v_until_id, case when v_round < 64 then v_most else 2147483647 end
        );
        v_last := greatest(v_last, v_found.last);
        exit when v_found.entries < v_most or v_round = 64;
        -- many lie after it: look behind the middle, or behind a step if nothing says how far they may reach
        if v_until = p_until and v_step < interval '100 years' then
            v_middle := least(v_last + v_step, v_until);
            v_step := v_step * 16;
        else
            v_middle := v_last + (least(v_until, timestamptz '10000-01-01') - v_last) / 2;
        end if;
        v_found := svc.audit_transaction_probe(p_from, p_before, v_middle, 0, v_until, v_until_id, v_most);
        if v_found.entries = 0 then
            v_until := v_middle;
            v_until_id := 0;
        else
            v_last := greatest(v_last, v_found.last);
        end if;
    end loop;
    return case when v_last > '-infinity' then v_last end;
end
$svc$;
