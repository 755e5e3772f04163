-- Raise the sequences of keys for the messages of one call, and return each message's: null if it has no key. Each key
-- rises by as many as the call has messages. Rows are locked in one order, so calls with the same keys wait for each
-- other and do not deadlock.
-- access: admin
create or replace function svc.webhook_next_sequences(p_keys text[], p_tenants text[]) returns bigint[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_sequences bigint[];
begin
    with raised as (
        insert into svc.webhook_keys as k (tenant, key, sequence)
        select coalesce(p.tenant, ''), p.key, svc.webhook_clock() + cardinality(p_keys)
          from unnest(p_tenants, p_keys) p(tenant, key)
         where p.key is not null
         group by 1, 2 order by 1, 2
        on conflict (tenant, key) do update
           set sequence = greatest(k.sequence + cardinality(p_keys), excluded.sequence)
        returning k.tenant, k.key, k.sequence - cardinality(p_keys) as before
    )
    select array_agg(r.before + p.ordinality order by p.ordinality)
      into v_sequences
      from unnest(p_tenants, p_keys) with ordinality p(tenant, key, ordinality)
      left join raised r on r.tenant = coalesce(p.tenant, '') and r.key = p.key;
    return v_sequences;
end
$svc$;
revoke all on function svc.webhook_next_sequences(text[], text[]) from public;
